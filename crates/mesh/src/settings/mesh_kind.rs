//! The values of `--mesh`, which follow from the registry of the meshes.
//!
//! Which pods read a fact.

use std::iter;

use crate::mesh;
use crate::mesh::Mesh;

/// The mesh of the pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MeshKind {
    /// Detected from the tree, for each pod.
    #[default]
    Auto,
    /// This mesh for every pod.
    One(Mesh),
    /// Istio, with injected namespaces and those that are not in the tree moved to ambient mode.
    Ambient,
    /// No mesh at all.
    None,
}

impl MeshKind {
    /// Returns all values, in the order in which they are documented.
    pub fn all() -> impl Iterator<Item = Self> {
        let meshes = mesh::all().flat_map(|mesh| {
            let mode = (mesh == Mesh::ISTIO).then_some(Self::Ambient);
            iter::once(Self::One(mesh)).chain(mode)
        });
        iter::once(Self::Auto)
            .chain(meshes)
            .chain(iter::once(Self::None))
    }

    /// Returns the name in settings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::One(mesh) => mesh.as_str(),
            Self::Ambient => "ambient",
            Self::None => "none",
        }
    }

    /// Returns whether pods of Istio are judged.
    #[must_use]
    pub fn may_be_istio(self) -> bool {
        match self {
            Self::Auto | Self::Ambient => true,
            Self::One(mesh) => mesh == Mesh::ISTIO,
            Self::None => false,
        }
    }
}

/// The pods that read a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactScope {
    /// Pods of every mesh.
    AnyPod,
    /// Pods with a sidecar of any mesh.
    Sidecar,
    /// Pods of Istio, whether they are injected or not.
    PodOfIstio,
    /// Pods that are in Istio's mesh.
    SidecarOfIstio,
    /// Pods that are in this mesh, whose release is stated.
    Release(Mesh),
}

impl FactScope {
    /// Returns the scope of a key of `--assume`, or of `mesh-version`, for a value of `--mesh`.
    #[must_use]
    pub fn of(key: &str, kind: MeshKind) -> Self {
        match key {
            "injection" | "node-version" => Self::AnyPod,
            "native-sidecars" => Self::Sidecar,
            "ambient" | "dataplane" | "revision" => Self::PodOfIstio,
            "mesh-version" => Self::Release(match kind {
                MeshKind::One(mesh) => mesh,
                _ => Mesh::ISTIO,
            }),
            _ => Self::SidecarOfIstio,
        }
    }

    /// Returns whether pods can read the fact if an option or the configuration sets the mesh.
    #[must_use]
    pub fn is_read_by(self, kind: MeshKind) -> bool {
        match kind {
            MeshKind::None => self == Self::AnyPod,
            MeshKind::One(mesh) if mesh != Mesh::ISTIO => {
                !matches!(self, Self::PodOfIstio | Self::SidecarOfIstio)
            }
            MeshKind::One(_) | MeshKind::Ambient | MeshKind::Auto => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_follow_from_the_registry() {
        let names: Vec<&str> = MeshKind::all().map(MeshKind::as_str).collect();
        assert_eq!(names.first(), Some(&"auto"));
        assert_eq!(names.last(), Some(&"none"));
        assert!(mesh::all().all(|mesh| names.contains(&mesh.as_str())));
        assert!(names.contains(&"ambient"));
    }
}
