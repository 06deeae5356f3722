//! What OSM is registered with.
//!
//! Source of the markers: `pkg/constants` and `pkg/injector/webhook.go` (v1.2.4).

use crate::mesh::definition::MeshDefinition;
use crate::mesh::markers::MeshMarkers;
use crate::mesh::name::Mesh;

use super::faults;
use super::keys::BOOTSTRAP_VOLUME;
use super::model::Osm;
use super::setups::SETUPS;

/// OSM as the registry lists it.
pub(in crate::mesh) static DEFINITION: MeshDefinition = MeshDefinition {
    mesh: Mesh::OSM,
    model: Some(&Osm),
    markers: MeshMarkers {
        prefixes: &["openservicemesh.io/"],
        switches: &[
            "openservicemesh.io/monitored-by",
            "openservicemesh.io/sidecar-injection",
        ],
        containers: &["osm-healthcheck", "osm-init"],
        volumes: &[BOOTSTRAP_VOLUME],
        groups: &["config.openservicemesh.io", "policy.openservicemesh.io"],
        ..MeshMarkers::NONE
    },
    keys: super::known_keys::KEYS,
    faults: faults::ALL,
    setups: SETUPS,
    proven: "",
};
