//! The configurations of Consul that `docs/meshes.md` shows.

use crate::mesh::setup::MeshSetup;

pub(super) const SETUPS: &[MeshSetup] = &[MeshSetup {
    title: "Consul, transparent proxy",
    releases: &[(1, 0), (2, 0)],
    annotations: "consul.hashicorp.com/connect-inject: \"true\"",
    ..MeshSetup::NONE
}];
