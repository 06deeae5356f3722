//! Rule `prometheus-port-refused`, documented in `docs/rules/prometheus-port-refused.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap};

declare_rule! {
    "prometheus-port-refused", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.injected_pods()
        .filter_map(|pod| report(cx, pod))
        .collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let workload = &pod.workload;
    let fact = cx.context.istio(workload).ports().scrape_fault()?;
    let fault = &fact.value;
    let message = format!(
        "annotation `{}` is invalid ({}): Istio refuses the pod since 1.31, so {}",
        fault.entry.key.text().unwrap_or_default(),
        fault.reason,
        pod_metadata::not_created(workload),
    );
    let place = MetadataMap::Annotation;
    let mut finding = pod_metadata::finding_on_entry(&RULE, workload, place, fault.entry, message);
    // The first reason is the place of the finding.
    let mut basis = fact.clone().map(|_| ());
    basis.because = basis.because.split_off(basis.because.len().min(1));
    finding.depend_on(&basis);
    finding.depend_on(&pod.dataplane);
    finding.help = Some(format!(
        "set the number of the port on which the application serves metrics, or `{}: \"false\"`",
        keys::MERGE_METRICS
    ));
    Some(finding)
}
