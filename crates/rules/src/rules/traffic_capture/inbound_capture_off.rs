//! Rule `inbound-capture-off`, documented in `docs/rules/inbound-capture-off.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap};
use crate::rules::support::unenforced_mtls;

declare_rule! {
    "inbound-capture-off", Warning, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods()
        .filter(|pod| pod.dataplane.value == Dataplane::Sidecar)
        .filter_map(|pod| report(cx, pod))
        .collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let workload = &pod.workload;
    let list = cx.context.istio(workload).ports().included()?;
    let mtls = unenforced_mtls::strict_mode(cx, pod)?;
    let mode = cx.context.istio(workload).ports().interception_mode();
    if !list.value.trim().is_empty() || mode.is_some_and(|mode| mode.value == "NONE") {
        return None;
    }
    let message = "`includeInboundPorts` is empty: no inbound traffic reaches the sidecar, so \
                   `STRICT` mutual TLS is not enforced and plain text is accepted";
    let own = workload.template.annotation(keys::INCLUDE_INBOUND_PORTS);
    let facts = (&list, &mtls);
    let mut finding = unenforced_mtls::finding(&RULE, pod, own, facts, message.to_owned());
    finding.help =
        Some("set it to `*` to capture all ports, or list the ports to capture".to_owned());
    finding.fix = own.map(|entry| {
        let wanted =
            Applicability::unsafe_because("the sidecar then refuses clients that send plain text");
        let degree = pod_metadata::removal_applicability(pod, &[entry], wanted);
        let keys = [keys::INCLUDE_INBOUND_PORTS];
        let changes =
            pod_metadata::removal_changes(&workload.template, MetadataMap::Annotation, &keys);
        let title = "remove the annotation, so that all ports are captured";
        Fix::of_object(&workload.object, title, degree, changes)
    });
    Some(finding)
}
