//! The configuration of the proof mesh that `docs/meshes.md` shows.

use crate::mesh::setup::MeshSetup;

pub(super) const SETUPS: &[MeshSetup] = &[MeshSetup {
    title: "Proof mesh",
    releases: &[(1, 0)],
    annotations: "proof-mesh.example/inject: \"true\"",
    ..MeshSetup::NONE
}];
