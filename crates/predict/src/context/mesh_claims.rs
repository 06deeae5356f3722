//! Pods that several meshes claim: each of them injects its proxy.

use meshprobe_mesh::finding::Label;
use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::detect::{Evidence, evidence, strongest_claims};
use meshprobe_mesh::settings::MeshKind;

use super::mesh::{Dataplane, WorkloadMesh};

/// A mesh that injects a pod, with the place that enables it.
#[derive(Clone, Debug)]
pub struct MeshClaim {
    /// The mesh.
    pub mesh: Mesh,
    /// The place.
    pub place: Label,
    /// Whether it certainly injects the pod; it may otherwise.
    pub is_certain: bool,
}

impl WorkloadMesh<'_, '_> {
    /// Returns the meshes that are enabled for the pods of a workload and may inject them, the one for which they are
    /// judged first; empty if there are less than two, if none certainly injects them, or if an option sets the mesh.
    #[must_use]
    pub fn claims(self) -> Vec<MeshClaim> {
        if self.context.settings.mesh != MeshKind::Auto || self.context.mesh.is_some() {
            return Vec::new();
        }
        let mut all = evidence(self.workload, self.namespace().manifest());
        all.sort_by_key(Evidence::rank);
        let strongest = strongest_claims(&all);
        if strongest.len() < 2 {
            return Vec::new();
        }
        let claims: Vec<MeshClaim> = strongest
            .into_iter()
            .filter_map(|claim| {
                Some(MeshClaim {
                    mesh: claim.mesh,
                    place: claim.place.clone(),
                    is_certain: self.certainly_injects(claim.mesh)?,
                })
            })
            .collect();
        let is_injected = claims.iter().any(|claim| claim.is_certain);
        if claims.len() > 1 && is_injected {
            claims
        } else {
            Vec::new()
        }
    }

    /// Returns whether a mesh certainly adds a proxy to the pods, or has added it; `None` if it does not.
    fn certainly_injects(self, mesh: Mesh) -> Option<bool> {
        // Cilium runs its proxy on the node.
        if mesh == Mesh::CILIUM {
            return None;
        }
        let context = self.context.assuming_mesh(mesh);
        let dataplane = context.pod_facts(self.workload).dataplane().value;
        // In ambient mode, pods have no proxy of their own.
        match dataplane {
            Dataplane::None | Dataplane::Ambient => None,
            Dataplane::Unknown => Some(false),
            _ => Some(true),
        }
    }

    /// Returns whether the tree does not exclude that a mesh adds a proxy to the pods.
    pub(super) fn may_be_injected_by(self, mesh: Mesh) -> bool {
        let context = self.context.assuming_mesh(mesh);
        context.pod_facts(self.workload).dataplane().value != Dataplane::None
    }
}
