//! The labels and annotations of meshes that a user writes, with their meaning and values. Editors offer them.
//!
//! Each mesh declares its own in `known_keys.rs`. The source of each is that of the constant with its name, in `keys.rs`
//! of the mesh, and of the code that reads it.

/// The map of the metadata that contains a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyMap {
    /// `labels`.
    Labels,
    /// `annotations`.
    Annotations,
}

impl KeyMap {
    /// Returns the field of `metadata`.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Labels => "labels",
            Self::Annotations => "annotations",
        }
    }
}

/// The objects on which a key has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyOwner {
    /// Pods and pod templates.
    Pod,
    /// Namespaces.
    Namespace,
}

/// A label or annotation of a mesh.
#[derive(Clone, Copy, Debug)]
pub struct KnownKey {
    /// The key.
    pub name: &'static str,
    /// Where it is written.
    pub map: KeyMap,
    /// The objects on which it has an effect.
    pub owners: &'static [KeyOwner],
    /// Its usual values; empty for values that depend on the user, such as ports.
    pub values: &'static [&'static str],
    /// What it does, in one or two sentences.
    pub meaning: &'static str,
    /// The rules about it.
    pub rules: &'static [&'static str],
}

impl KnownKey {
    /// Returns whether it has an effect in this map of an object.
    #[must_use]
    pub fn is_for(&self, map: KeyMap, owner: KeyOwner) -> bool {
        self.map == map && self.owners.contains(&owner)
    }
}
