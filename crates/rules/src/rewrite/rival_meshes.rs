//! The note about a pod that several meshes inject.

use meshprobe_mesh::finding::{Finding, GuardId, SharedNote};
use meshprobe_predict::predict::{WorkloadPrediction, how_to_judge_for_rivals, injecting_meshes};

use super::notes::shared_note;

/// Notes that several meshes inject the pod, and that the rewrite is only for one of them.
pub(super) fn several_meshes(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let first = pod
        .claims
        .first()
        .filter(|_| !pod.handlers.is_empty())?
        .mesh
        .title();
    let text = format!(
        "{} into the pods, whose probes are judged for {first} only",
        injecting_meshes(pod)
    );
    let mut finding = shared_note(pod, GuardId::SEVERAL_MESHES, SharedNote::after_colon(&text));
    finding.related = pod.claims.iter().map(|claim| claim.place.clone()).collect();
    finding.help = Some(how_to_judge_for_rivals(pod));
    Some(finding)
}
