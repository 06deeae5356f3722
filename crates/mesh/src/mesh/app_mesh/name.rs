//! The names of App Mesh.

use crate::mesh::name::{Mesh, MeshInfo};

impl Mesh {
    /// AWS App Mesh.
    pub const APP_MESH: Self = Self::new(&MeshInfo {
        id: "app-mesh",
        // As its own tools write it.
        title: "App Mesh",
        summary: "AWS App Mesh",
        settle_release: "--mesh app-mesh --mesh-version N.N",
    });
}
