//! What Kuma is registered with.
//!
//! Source of the markers: `pkg/plugins/runtime/k8s/metadata` (v3 development).

use crate::mesh::definition::MeshDefinition;
use crate::mesh::markers::MeshMarkers;
use crate::mesh::name::Mesh;

use super::faults;
use super::model::Kuma;
use super::setups::SETUPS;

/// Kuma as the registry lists it.
pub(in crate::mesh) static DEFINITION: MeshDefinition = MeshDefinition {
    mesh: Mesh::KUMA,
    model: Some(&Kuma),
    markers: MeshMarkers {
        prefixes: &["kuma.io/", "traffic.kuma.io/"],
        switches: &["kuma.io/sidecar-injection"],
        containers: &["kuma-sidecar"],
        groups: &["kuma.io"],
        ..MeshMarkers::NONE
    },
    keys: super::known_keys::KEYS,
    faults: faults::ALL,
    setups: SETUPS,
    proven: "",
};
