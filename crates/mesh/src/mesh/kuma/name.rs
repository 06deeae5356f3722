//! The names of Kuma.

use crate::mesh::name::{Mesh, MeshInfo};

impl Mesh {
    /// Kuma, and Kong Mesh on top of it.
    pub const KUMA: Self = Self::new(&MeshInfo {
        id: "kuma",
        title: "Kuma",
        summary: "Kuma, and Kong Mesh",
        settle_release: "--mesh kuma --mesh-version 2.N",
    });
}
