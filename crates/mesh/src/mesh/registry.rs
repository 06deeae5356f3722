//! The registry of the meshes: one line each, which also declares the module.
//!
//! `cargo fmt` does not follow modules that a macro declares; the gate formats every file by name.

use meshprobe_yaml::Span;

use super::definition::MeshDefinition;
use super::description::{KnownKey, Mesh, MeshSetup};
use super::fault::ProbeFault;
use super::model::MeshModel;
use super::proven::ProvenRelease;
use super::version::Version;
use super::{proven, shared_faults};
use crate::kube::Object;

/// Calls a macro with the meshes. If the evidence for two is equal, the first one is used.
macro_rules! for_each_mesh {
    ($callback:ident) => {
        $callback! {
            pub istio,
            pub osm,
            pub kuma,
            pub consul,
            pub linkerd,
            pub app_mesh,
            pub cilium,
        }
    };
}

macro_rules! definitions {
    ($($visibility:vis $mesh:ident,)+) => {
        /// The meshes, in the order of the list.
        pub(in crate::mesh) static DEFINITIONS: &[&MeshDefinition] = &[$(&super::$mesh::DEFINITION),+];
    };
}
for_each_mesh!(definitions);

/// Returns all meshes; if the evidence for two is equal, the first one is used.
pub fn all() -> impl Iterator<Item = Mesh> {
    DEFINITIONS.iter().map(|definition| definition.mesh)
}

fn definition_of(mesh: Mesh) -> Option<&'static MeshDefinition> {
    let mut definitions = DEFINITIONS.iter().copied();
    definitions.find(|definition| definition.mesh == mesh)
}

/// Returns the position of a mesh in the list.
#[must_use]
pub(crate) fn rank_of(mesh: Mesh) -> usize {
    let found = all().position(|known| known == mesh);
    found.unwrap_or(usize::MAX)
}

/// Returns the model of a mesh; `None` for Istio, which has its own layers.
#[must_use]
pub fn model_of(mesh: Mesh) -> Option<&'static dyn MeshModel> {
    definition_of(mesh)?.model
}

/// Returns the mesh other than Istio that an object installs, with its release and the place that states it.
#[must_use]
pub fn installed_release(object: &Object<'_>) -> Option<(Mesh, Version, Span)> {
    DEFINITIONS.iter().find_map(|definition| {
        let (release, span) = definition.model?.installed_release(object)?;
        Some((definition.mesh, release, span))
    })
}

/// Iterates over the labels and annotations of all meshes that users write.
pub fn known_keys() -> impl Iterator<Item = (Mesh, &'static KnownKey)> {
    DEFINITIONS.iter().flat_map(|definition| {
        let mesh = definition.mesh;
        definition.keys.iter().map(move |key| (mesh, key))
    })
}

/// Returns every fault of every mesh.
pub fn faults() -> impl Iterator<Item = &'static ProbeFault> {
    let own = DEFINITIONS.iter().flat_map(|definition| definition.faults);
    own.chain(shared_faults::ALL).copied()
}

/// Returns the newest release of a mesh that its oracle has compared with meshprobe.
#[must_use]
pub fn newest_proven(mesh: Mesh) -> Option<ProvenRelease> {
    proven::releases(definition_of(mesh)?.proven).last()
}

/// Returns whether a release is newer than every release that the oracle of its mesh has compared with meshprobe.
#[must_use]
pub fn is_newer_than_proven(mesh: Mesh, release: Version) -> bool {
    newest_proven(mesh).is_some_and(|proven| release > proven.release)
}

/// Returns the documented configurations of a mesh.
pub fn setups(mesh: Mesh) -> &'static [MeshSetup] {
    definition_of(mesh).map_or(&[], |definition| definition.setups)
}
