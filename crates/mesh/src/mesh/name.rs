//! The names of a mesh. Each mesh declares its own in its folder.

use std::fmt;
use std::hash::{Hash, Hasher};

/// A service mesh.
#[derive(Clone, Copy)]
pub struct Mesh(&'static MeshInfo);

/// The names of a mesh, in settings and in texts.
pub(in crate::mesh) struct MeshInfo {
    /// The name in settings and in every output format, which identifies the mesh.
    pub id: &'static str,
    /// The name in sentences.
    pub title: &'static str,
    /// The name in the help.
    pub summary: &'static str,
    /// The options that name the mesh and its release.
    pub settle_release: &'static str,
}

impl Mesh {
    pub(in crate::mesh) const fn new(info: &'static MeshInfo) -> Self {
        Self(info)
    }

    /// Returns the name in settings and in every output format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0.id
    }

    /// Returns the name in sentences.
    #[must_use]
    pub const fn title(self) -> &'static str {
        self.0.title
    }

    /// Returns the name in the help.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        self.0.summary
    }

    /// Returns the options that name the mesh and its release.
    #[must_use]
    pub const fn settle_release(self) -> &'static str {
        self.0.settle_release
    }
}

impl PartialEq for Mesh {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for Mesh {}

impl Hash for Mesh {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.id.hash(state);
    }
}

impl fmt::Debug for Mesh {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.title)
    }
}
