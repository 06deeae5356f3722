//! Rule `interception-none-no-ingress`, documented in `docs/rules/interception-none-no-ingress.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Workload;
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::unenforced_mtls;

declare_rule! {
    "interception-none-no-ingress", Note, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods()
        .filter(|pod| pod.dataplane.value == Dataplane::Sidecar)
        .filter_map(|pod| report(cx, pod))
        .collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let workload = &pod.workload;
    let mode = cx.context.istio(workload).ports().interception_mode()?;
    let mtls = unenforced_mtls::strict_mode(cx, pod)?;
    let ports = cx.context.istio(workload).ports();
    if mode.value != "NONE" || ports.declared_ingress().is_some() {
        return None;
    }
    let message =
        "interception mode is `NONE` and no `Sidecar` declares ingress ports: probes and \
                   clients reach the application directly, so `STRICT` mutual TLS is not enforced"
            .to_owned();
    let template = &workload.template;
    let annotation = template
        .annotation(keys::INTERCEPTION_MODE)
        .or_else(|| template.annotation(keys::PROXY_CONFIG))
        .filter(|_| is_from_file_of(workload, &mode));
    let facts = (&mode, &mtls);
    let mut finding = unenforced_mtls::finding(&RULE, pod, annotation, facts, message);
    finding.help =
        Some("declare the ports under `ingress` of a `Sidecar`, or enable interception".to_owned());
    Some(finding)
}

/// Returns whether a fact comes from the file of a workload.
fn is_from_file_of<T>(workload: &Workload<'_>, fact: &Fact<T>) -> bool {
    let workload_path = workload
        .object
        .label_at(workload.object.name_span(), "")
        .path;
    fact.because
        .iter()
        .filter_map(|reason| reason.place.as_ref())
        .any(|place| place.path == workload_path)
}
