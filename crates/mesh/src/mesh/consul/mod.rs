//! Consul on Kubernetes: `httpGet` probes target listeners that Consul exposes.
//!
//! Sources, consul-k8s a507b1d1, run:
//! `control-plane/connect-inject/webhook/{mesh_webhook,redirect_traffic}.go`; the registration in
//! `controllers/endpoints/endpoints_controller.go`. The ports are the same from 1.0 to 2.0.
//!
//! What Consul is registered with: its names and setups.
//!
//! Source of the markers: `control-plane/connect-inject/constants` (consul-k8s).

mod injection;
mod keys;
mod probes;

use probes::Consul;

use super::description::{Mesh, MeshInfo, MeshMarkers, MeshSetup, SetupSource};
use super::model::MeshDefinition;

pub use injection::several_services;
pub use keys::{CONCURRENCY, OVERWRITE, SERVICE, SERVICE_PORT, STATUS, TRANSPARENT, faults};

/// Consul as the registry lists it.
pub(in crate::mesh) static DEFINITION: MeshDefinition = MeshDefinition {
    mesh: Mesh::CONSUL,
    model: Some(&Consul),
    markers: MeshMarkers {
        prefixes: &["consul.hashicorp.com/"],
        switches: &["consul.hashicorp.com/connect-inject"],
        containers: &["consul-dataplane"],
        groups: &["consul.hashicorp.com"],
        ..MeshMarkers::NONE
    },
    keys: keys::KEYS,
    faults: faults::ALL,
    setups: SETUPS,
    proven: "",
};

impl Mesh {
    /// Consul service mesh.
    pub const CONSUL: Self = Self::new(&MeshInfo {
        id: "consul",
        title: "Consul",
        summary: "Consul",
        settle_release: "--mesh consul --mesh-version N.N",
    });
}

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
