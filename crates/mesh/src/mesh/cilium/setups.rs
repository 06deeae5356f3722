//! The configurations of Cilium that `docs/meshes.md` shows.

use crate::mesh::setup::{MeshSetup, SetupSource};

const SOURCE: SetupSource = SetupSource::Documentation(
    "Cilium, \"Mutual Authentication\" and \"Policy Enforcement Modes\"",
);

pub(super) const SETUPS: &[MeshSetup] = &[MeshSetup {
    title: "Cilium, mutual authentication",
    releases: &[(1, 18)],
    source: SOURCE,
    ..MeshSetup::NONE
}];
