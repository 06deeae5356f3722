//! The values of `--mesh`, which follow from the registry of the meshes.

use std::iter;

use crate::mesh::{self, Mesh};

use super::suggest::unknown_value_message;

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

    /// Parses `auto`, `none`, `ambient` or the name of a mesh.
    ///
    /// # Errors
    /// A message, if the text is none of them.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::all()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| {
                let names: Vec<&str> = Self::all().map(Self::as_str).collect();
                unknown_value_message("mesh", text, &names)
            })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_value_can_be_read() {
        let names: Vec<&str> = MeshKind::all().map(MeshKind::as_str).collect();
        let expected = [
            "auto", "istio", "ambient", "osm", "kuma", "consul", "linkerd", "app-mesh", "cilium",
            "none",
        ];
        assert_eq!(names, expected);
        for kind in MeshKind::all() {
            assert_eq!(MeshKind::parse(kind.as_str()), Ok(kind));
        }
        assert!(MeshKind::parse("Istio").is_err());
    }
}
