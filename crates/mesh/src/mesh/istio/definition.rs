//! What Istio is registered with.
//!
//! Source of the markers: the labels, annotations, containers and API groups that Istio documents.

use crate::mesh::definition::MeshDefinition;
use crate::mesh::markers::MeshMarkers;
use crate::mesh::name::Mesh;

use super::setups::SETUPS;

/// Istio as the registry lists it.
pub(in crate::mesh) static DEFINITION: MeshDefinition = MeshDefinition {
    mesh: Mesh::ISTIO,
    model: None,
    markers: MeshMarkers {
        prefixes: &[
            "sidecar.istio.io/",
            "traffic.sidecar.istio.io/",
            "proxy.istio.io/",
            "inject.istio.io/",
            "security.istio.io/",
            "istio.io/",
            "istio-injection",
        ],
        switches: &[
            "istio-injection",
            "istio.io/rev",
            "istio.io/dataplane-mode",
            "sidecar.istio.io/inject",
        ],
        values: &[
            ("istio-injection", "enabled"),
            ("istio.io/dataplane-mode", "ambient"),
        ],
        containers: &["istio-proxy"],
        groups: &["networking.istio.io", "security.istio.io"],
        ..MeshMarkers::NONE
    },
    keys: super::known_keys::KEYS,
    faults: &[],
    setups: SETUPS,
    proven: include_str!("proven.csv"),
};
