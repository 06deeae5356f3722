//! The configurations of Cilium that `docs/meshes.md` shows.

use crate::mesh::setup::MeshSetup;

pub(super) const SETUPS: &[MeshSetup] = &[MeshSetup {
    title: "Cilium, mutual authentication",
    releases: &[(1, 18)],
    ..MeshSetup::NONE
}];
