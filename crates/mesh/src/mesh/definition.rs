//! What a mesh is registered with.

use super::description::{KnownKey, Mesh, MeshMarkers, MeshSetup};
use super::fault::ProbeFault;
use super::model::MeshModel;

/// A mesh as the registry lists it: its names, its behaviour and the evidence for it.
pub(in crate::mesh) struct MeshDefinition {
    /// Its names.
    pub mesh: Mesh,
    /// How it treats probes; `None` for Istio, which has its own layers.
    pub model: Option<&'static dyn MeshModel>,
    /// How it is recognized.
    pub markers: MeshMarkers,
    /// The labels and annotations that users write.
    pub keys: &'static [KnownKey],
    /// The faults that only this mesh has.
    pub faults: &'static [&'static ProbeFault],
    /// The configurations that `docs/meshes.md` shows; at least one.
    pub setups: &'static [MeshSetup],
    /// The file of the releases that the mesh's oracle has compared with meshprobe; empty without an oracle.
    pub proven: &'static str,
}
