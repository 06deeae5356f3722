//! Pods that several meshes claim: each of them injects its proxy.

use crate::context::dataplane::Dataplane;
use crate::context::mesh::WorkloadMesh;
use crate::finding::Label;
use crate::mesh::Mesh;
use crate::mesh::detect::{Evidence, evidence, strongest_claims};
use crate::settings::MeshKind;

/// A mesh that injects a pod, with the place that enables it.
#[derive(Clone, Debug)]
pub struct MeshClaim {
    /// The mesh.
    pub mesh: Mesh,
    /// The place.
    pub place: Label,
}

impl WorkloadMesh<'_, '_> {
    /// Returns the meshes that inject the pods of a workload, the one for which they are judged first; empty if at
    /// most one does, or if an option sets the mesh.
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
            .filter(|claim| self.is_injected_by(claim.mesh))
            .map(|claim| MeshClaim {
                mesh: claim.mesh,
                place: claim.place.clone(),
            })
            .collect();
        match claims.len() {
            0 | 1 => Vec::new(),
            _ => claims,
        }
    }

    /// Returns whether a mesh adds a proxy to the pods, or has added it.
    fn is_injected_by(self, mesh: Mesh) -> bool {
        // Cilium runs its proxy on the node.
        if mesh == Mesh::CILIUM {
            return false;
        }
        let context = self.context.assuming_mesh(mesh);
        let dataplane = context.istio(self.workload).injection().dataplane().value;
        // In ambient mode, pods have no proxy of their own.
        !matches!(
            dataplane,
            Dataplane::None | Dataplane::Unknown | Dataplane::Ambient
        )
    }

    /// Returns whether the tree does not exclude that a mesh adds a proxy to the pods.
    pub(super) fn may_be_injected_by(self, mesh: Mesh) -> bool {
        let context = self.context.assuming_mesh(mesh);
        context.istio(self.workload).injection().dataplane().value != Dataplane::None
    }
}
