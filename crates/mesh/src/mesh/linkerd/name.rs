//! The names of Linkerd.

use crate::mesh::name::{Mesh, MeshInfo};

impl Mesh {
    /// Linkerd.
    pub const LINKERD: Self = Self::new(&MeshInfo {
        id: "linkerd",
        title: "Linkerd",
        summary: "Linkerd",
        settle_release: "--mesh linkerd --mesh-version N.N",
    });
}
