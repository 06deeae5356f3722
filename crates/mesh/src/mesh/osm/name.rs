//! The names of OSM.

use crate::mesh::name::{Mesh, MeshInfo};

impl Mesh {
    /// Open Service Mesh.
    pub const OSM: Self = Self::new(&MeshInfo {
        id: "osm",
        title: "OSM",
        summary: "Open Service Mesh",
        settle_release: "--mesh osm --mesh-version 1.N",
    });
}
