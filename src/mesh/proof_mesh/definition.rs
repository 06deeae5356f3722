//! What the proof mesh is registered with.

use crate::mesh::definition::MeshDefinition;
use crate::mesh::markers::MeshMarkers;
use crate::mesh::name::Mesh;

use super::faults;
use super::model::{INJECT, ProofMesh};
use super::setups::SETUPS;

/// The proof mesh as the registry lists it.
pub(in crate::mesh) static DEFINITION: MeshDefinition = MeshDefinition {
    mesh: Mesh::PROOF_MESH,
    model: Some(&ProofMesh),
    markers: MeshMarkers {
        prefixes: &["proof-mesh.example/"],
        switches: &[INJECT],
        ..MeshMarkers::NONE
    },
    faults: faults::ALL,
    setups: SETUPS,
};
