//! Rule `inbound-capture-off`, documented in `docs/rules/inbound-capture-off.md`.

use crate::context::Dataplane;
use crate::finding::{Applicability, Finding, Fix};
use crate::mesh::istio::keys;
use crate::mesh::istio::mtls::MtlsMode;
use crate::predict::WorkloadPrediction;
use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap};

/// A port for which no policy has an exception. Its mode is that of the pod in general.
const ANY_PORT: i64 = 0;

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
    let mtls = cx.context.istio(workload).mtls(ANY_PORT);
    let disables_mtls = list.value.trim().is_empty() && mtls.value == MtlsMode::Strict;
    let mode = cx.context.istio(workload).ports().interception_mode();
    if !disables_mtls || mode.is_some_and(|mode| mode.value == "NONE") {
        return None;
    }
    let message = "`includeInboundPorts` is empty: no inbound traffic reaches the sidecar, so \
                   `STRICT` mutual TLS is not enforced and plain text is accepted";
    let own = workload.template.annotation(keys::INCLUDE_INBOUND_PORTS);
    let mut finding = match own {
        Some(entry) => pod_metadata::finding_on_entry(
            &RULE,
            workload,
            MetadataMap::Annotation,
            entry,
            message.to_owned(),
        ),
        None => {
            let span = workload.object.name_span();
            let mut finding = RULE.finding_on_workload(workload, span, message.to_owned());
            finding.depend_on(&list);
            finding
        }
    };
    finding.depend_on(&mtls);
    finding.depend_on(&pod.dataplane);
    finding.help =
        Some("set it to `*` to capture all ports, or list the ports to capture".to_owned());
    finding.fix = own.map(|entry| {
        let degree = pod_metadata::removal_applicability(pod, &[entry], Applicability::Unsafe);
        let keys = [keys::INCLUDE_INBOUND_PORTS];
        let changes =
            pod_metadata::removal_changes(&workload.template, MetadataMap::Annotation, &keys);
        let title = "remove the annotation, so that all ports are captured";
        Fix::of_object(&workload.object, title, degree, changes)
    });
    Some(finding)
}
