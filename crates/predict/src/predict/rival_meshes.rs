//! Words about a pod that several meshes inject.

use meshprobe_mesh::finding::sentence_list;

use super::WorkloadPrediction;
use crate::context::MeshClaim;

/// Returns the start of a sentence that names the meshes which inject a pod: "each of Linkerd and Istio injects its
/// proxy".
#[must_use]
pub fn injecting_meshes(pod: &WorkloadPrediction<'_>) -> String {
    let titles = |is_certain: bool| -> Vec<&str> {
        let claims = pod.claims.iter();
        let claims = claims.filter(|claim| claim.is_certain == is_certain);
        claims.map(|claim| claim.mesh.title()).collect()
    };
    let certain = titles(true);
    let mut text = match certain.as_slice() {
        [mesh] => format!("{mesh} injects its proxy"),
        meshes => format!("each of {} injects its proxy", sentence_list(meshes)),
    };
    let others = titles(false);
    if !others.is_empty() {
        text.push_str(&format!(
            ", and {} may inject its own,",
            sentence_list(&others)
        ));
    }
    text
}

/// Returns what to do about a pod that several meshes inject.
#[must_use]
pub fn how_to_judge_for_rivals(pod: &WorkloadPrediction<'_>) -> String {
    let option = |claim: &MeshClaim| format!("`--mesh {}`", claim.mesh.as_str());
    let options: Vec<String> = pod.claims.iter().skip(1).map(option).collect();
    format!(
        "keep one mesh for the pods; {} judges them for another one",
        options.join(" or ")
    )
}
