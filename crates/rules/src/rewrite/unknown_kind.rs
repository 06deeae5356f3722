//! Pod templates in objects of operators: `rewrite` does not edit them.

use std::collections::BTreeMap;

use meshprobe_mesh::finding::{Finding, GuardId, Refusal, Severity};
use meshprobe_mesh::kube::ObjectId;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rewrite::pod::needs_rewrite;

/// Removes pods that are only assumed to be created from a template of an operator's object. Returns their objects, with
/// a warning for each that contains a part of a rewrite or that a rewrite would change.
///
/// The operator may overwrite the probes, and may drop the annotation or the env that a rewrite adds. A pod with
/// rewritten probes and without a prober env never becomes ready.
pub fn remove_unknown_kinds(
    pods: &mut Vec<WorkloadPrediction<'_>>,
) -> BTreeMap<ObjectId, Option<Finding>> {
    let mut removed = BTreeMap::new();
    pods.retain(|pod| {
        let is_known = !pod.workload.template.placement.is_assumed();
        if !is_known && pod.is_target {
            let warning = removed.entry(pod.workload.object.id()).or_insert(None);
            if warning.is_none() && (needs_rewrite(pod) || pod.is_prerewritten()) {
                *warning = Some(finding(pod));
            }
        }
        is_known
    });
    removed
}

fn finding(pod: &WorkloadPrediction<'_>) -> Finding {
    let object = &pod.workload.object;
    let label = object.label_at(object.name_span(), String::new());
    let guard = GuardId::UNKNOWN_KIND;
    let mut finding = Finding::new(guard, Severity::Warning, label, String::new());
    finding.set_refusal(Refusal {
        start: format!("{} is not edited: ", pod.workload.title()),
        reason: "an operator creates its pods, and may change the result of a rewrite".to_owned(),
    });
    finding.document = object.document.index;
    finding.object = Some(object.reference());
    finding.help = Some(
        "leave its probes to the injector, which rewrites the pods that the operator creates"
            .to_owned(),
    );
    finding
}
