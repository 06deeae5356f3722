//! The registry of the meshes: one line each, which also declares the module.
//!
//! `cargo fmt` does not follow modules that a macro declares; the gate formats every file by name.
//!
//! The releases that an oracle has compared with meshprobe.
//!
//! `tests/oracle/NAME.sh --record` writes `crates/mesh/src/mesh/NAME/proven.csv` if it finds no difference.

use meshprobe_yaml::{FieldPath, NodeRef, Span};

use super::description::{KnownKey, Mesh, MeshSetup};
use super::fault::ProbeFault;
use super::model::{MeshDefinition, MeshModel};
use super::shared_faults;
use super::version::Version;
use crate::kube::Object;

/// Calls a macro with the meshes, each with the file in `rules/mesh` if it has rules of its own. If the evidence for two is
/// equal, the first one is used.
#[macro_export]
macro_rules! for_each_mesh {
    ($callback:ident) => {
        $callback! {
            istio [],
            osm [osm],
            kuma [kuma],
            consul [consul],
            linkerd [linkerd],
            app_mesh [app_mesh],
            cilium [cilium],
        }
    };
}

macro_rules! definitions {
    ($($mesh:ident [$($rules:ident)?],)+) => {
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

/// Returns the mesh other than Istio whose control plane a Deployment runs, with its release and the place that states it.
#[must_use]
pub fn installed_release(object: &Object<'_>) -> Option<(Mesh, Version, Span)> {
    let is_deployment = object.group() == "apps" && object.kind == "Deployment";
    let path = FieldPath::keys(&["spec", "template", "spec", "containers"]);
    let containers = object.node.at(&path).filter(|_| is_deployment);
    let mut images = containers.into_iter().flat_map(NodeRef::items);
    images.find_map(|container| {
        let image = container.get("image")?;
        let (mesh, release) = release_by(|model| model.release_of_image(image.text()?))?;
        Some((mesh, release, image.span()))
    })
}

/// Returns the mesh other than Istio that a version of a chart installs, with its release.
#[must_use]
pub fn release_of_chart(name: &str, version: &str) -> Option<(Mesh, Version)> {
    release_by(|model| model.release_of_chart(name, version))
}

fn release_by(
    release: impl Fn(&'static dyn MeshModel) -> Option<Version>,
) -> Option<(Mesh, Version)> {
    DEFINITIONS
        .iter()
        .find_map(|definition| Some((definition.mesh, release(definition.model?)?)))
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
    releases(definition_of(mesh)?.proven).last()
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

/// The comparison of a release of a mesh with meshprobe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProvenRelease {
    /// The release.
    pub release: Version,
    /// The tag or branch of the mesh's repository.
    pub reference: &'static str,
    /// The commit.
    pub commit: &'static str,
    /// The number of compared pods.
    pub pods: u32,
}

/// The first line of a file of proven releases.
const HEADER: &str = "release,ref,commit,pods";

/// Returns the releases of a file, in its order. Lines that cannot be read are left out; a test reads every file.
pub(super) fn releases(csv: &'static str) -> impl Iterator<Item = ProvenRelease> {
    csv.lines().filter(|line| *line != HEADER).filter_map(read)
}

fn read(line: &'static str) -> Option<ProvenRelease> {
    let mut fields = line.split(',');
    let release = ProvenRelease {
        release: fields.next()?.parse().ok()?,
        reference: fields.next()?,
        commit: fields.next()?,
        pods: fields.next()?.parse().ok()?,
    };
    fields.next().is_none().then_some(release)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_every_mesh_is_read() {
        for definition in DEFINITIONS {
            let csv = definition.proven;
            let read: Vec<Version> = releases(csv).map(|proven| proven.release).collect();
            assert_eq!(read.len(), csv.lines().count().saturating_sub(1), "{csv}");
            assert!(read.is_sorted(), "{csv}");
            assert!(csv.is_empty() || csv.starts_with(HEADER), "{csv}");
        }
    }

    #[test]
    fn other_lines_are_left_out() {
        assert_eq!(
            releases("release,ref,commit,pods\nmaster,a,b,1\n1.31,a,b\n1.31,a,b,1,2").count(),
            0
        );
    }
}
