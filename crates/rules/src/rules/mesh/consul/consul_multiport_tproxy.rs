//! Rule `consul-multiport-tproxy`, documented in `docs/rules/consul-multiport-tproxy.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::consul::{TRANSPARENT, several_services};
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "consul-multiport-tproxy", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods()
        .filter(|pod| pod.mesh.value == Some(Mesh::CONSUL))
        .filter(|pod| cx.context.mesh_of(&pod.workload).is_refused())
        .filter_map(report)
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let span = several_services(&pod.workload)?.value.span();
    let mut reasons = pod.dataplane.because.iter();
    let deciding = reasons.find_map(|reason| reason.place.as_ref())?;
    let annotation = pod.workload.object.label_at(span, "");
    if !deciding.is_at(&annotation) {
        return None;
    }
    let message = format!(
        "{} never starts: the webhook refuses the pod, because it has several services and the \
         transparent proxy is on",
        pod.workload.title()
    );
    let mut finding = RULE.finding_on_workload(&pod.workload, span, message);
    finding.depend_on(&pod.dataplane);
    finding.related.retain(|label| !label.is_at(&annotation));
    finding.help = Some(format!(
        "give the pod one service, or turn the transparent proxy off: `{TRANSPARENT}: \"false\"`"
    ));
    Some(finding)
}
