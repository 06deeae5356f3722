//! The names of Istio.

use crate::mesh::name::{Mesh, MeshInfo};

impl Mesh {
    /// Istio.
    pub const ISTIO: Self = Self::new(&MeshInfo {
        id: "istio",
        title: "Istio",
        summary: "Istio",
        settle_release: "--mesh-version 1.N",
    });
}
