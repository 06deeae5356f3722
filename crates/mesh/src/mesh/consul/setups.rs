//! The configurations of Consul that `docs/meshes.md` shows.

use crate::mesh::setup::{MeshSetup, SetupSource};

const SOURCE: SetupSource = SetupSource::Code(
    "consul-k8s a507b1d1, control-plane/connect-inject/webhook/{mesh_webhook,redirect_traffic}.go",
);

pub(super) const SETUPS: &[MeshSetup] = &[MeshSetup {
    title: "Consul, transparent proxy",
    releases: &[(1, 0), (2, 0)],
    annotations: "consul.hashicorp.com/connect-inject: \"true\"",
    source: SOURCE,
    ..MeshSetup::NONE
}];
