//! The names of the proof mesh.

use crate::mesh::name::{Mesh, MeshInfo};

impl Mesh {
    /// The proof mesh.
    pub const PROOF_MESH: Self = Self::new(&MeshInfo {
        id: "proof-mesh",
        aliases: &[],
        title: "Proof mesh",
        summary: "A mesh that does not exist",
        settle_release: "--mesh proof-mesh --mesh-version N.N",
    });
}
