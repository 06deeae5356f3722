//! Findings about pods whose traffic capture does not enforce mutual TLS.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::Entry;

use crate::rules::support::pod_metadata::{self, MetadataMap};
use crate::rules::{Rule, RuleContext};

/// Returns the mode of mutual TLS of a pod with a sidecar if it is `STRICT` on the ports that no policy names.
pub(in crate::rules) fn strict_mode<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Option<Fact<MtlsMode>> {
    let mtls = cx.context.istio(&pod.workload).mtls_of_other_ports();
    (mtls.value == MtlsMode::Strict).then_some(mtls)
}

/// Creates a finding that points at the annotation of the pod that decides, or else names the fact of the mesh.
pub(in crate::rules) fn finding(
    rule: &Rule,
    pod: &WorkloadPrediction<'_>,
    annotation: Option<Entry<'_>>,
    (capture, mtls): (&Fact<String>, &Fact<MtlsMode>),
    message: String,
) -> Finding {
    let workload = &pod.workload;
    let mut finding = match annotation {
        Some(entry) => {
            pod_metadata::finding_on_entry(rule, workload, MetadataMap::Annotation, entry, message)
        }
        None => {
            let span = workload.object.name_span();
            let mut finding = rule.finding_on_workload(workload, span, message);
            finding.depend_on(capture);
            finding
        }
    };
    finding.depend_on(mtls);
    finding.depend_on(&pod.dataplane);
    finding
}
