//! The names of Consul.

use crate::mesh::name::{Mesh, MeshInfo};

impl Mesh {
    /// Consul service mesh.
    pub const CONSUL: Self = Self::new(&MeshInfo {
        id: "consul",
        title: "Consul",
        summary: "Consul",
        settle_release: "--mesh consul --mesh-version N.N",
    });
}
