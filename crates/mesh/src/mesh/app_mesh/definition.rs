//! What App Mesh is registered with.
//!
//! Source of the markers: `pkg/inject` of its controller.

use crate::mesh::definition::MeshDefinition;
use crate::mesh::markers::MeshMarkers;
use crate::mesh::name::Mesh;

use super::faults;
use super::keys::INJECT;
use super::model::AppMesh;
use super::setups::SETUPS;

/// App Mesh as the registry lists it.
pub(in crate::mesh) static DEFINITION: MeshDefinition = MeshDefinition {
    mesh: Mesh::APP_MESH,
    model: Some(&AppMesh),
    markers: MeshMarkers {
        prefixes: &["appmesh.k8s.aws/"],
        switches: &[INJECT],
        groups: &["appmesh.k8s.aws"],
        ..MeshMarkers::NONE
    },
    keys: super::known_keys::KEYS,
    faults: faults::ALL,
    setups: SETUPS,
    proven: "",
};
