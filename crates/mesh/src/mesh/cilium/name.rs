//! The names of Cilium.

use crate::mesh::name::{Mesh, MeshInfo};

impl Mesh {
    /// Cilium with mutual authentication.
    pub const CILIUM: Self = Self::new(&MeshInfo {
        id: "cilium",
        title: "Cilium",
        summary: "Cilium with mutual authentication",
        settle_release: "--mesh cilium --mesh-version N.N",
    });
}
