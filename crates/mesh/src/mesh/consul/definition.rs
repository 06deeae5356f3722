//! What Consul is registered with.
//!
//! Source of the markers: `control-plane/connect-inject/constants` (consul-k8s).

use crate::mesh::definition::MeshDefinition;
use crate::mesh::markers::MeshMarkers;
use crate::mesh::name::Mesh;

use super::faults;
use super::model::Consul;
use super::setups::SETUPS;

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
    keys: super::known_keys::KEYS,
    faults: faults::ALL,
    setups: SETUPS,
    proven: "",
};
