//! What each mesh declares about itself in its folder: its names, keys, markers and setups.

use std::fmt;
use std::hash::{Hash, Hasher};

use meshprobe_yaml::NodeRef;

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

/// Declares the labels and annotations of a mesh, a row for each: the key, the objects on which it has an effect, its usual
/// values, the rules about it, and its meaning.
macro_rules! known_keys {
    ($($name:expr, $map:ident of $($owner:ident)+, $values:expr, [$($rule:literal),*], $meaning:literal;)+) => {
        &[$($crate::mesh::description::KnownKey {
            name: $name,
            map: $crate::mesh::description::KeyMap::$map,
            owners: &[$($crate::mesh::description::KeyOwner::$owner),+],
            values: $values,
            meaning: $meaning,
            rules: &[$($rule),*],
        }),+]
    };
}
pub(in crate::mesh) use known_keys;

/// The markers by which a mesh is recognized. They also define which of its objects are facts.
pub(in crate::mesh) struct MeshMarkers {
    /// Prefixes of labels and annotations.
    pub prefixes: &'static [&'static str],
    /// Labels and annotations that enable the mesh.
    pub switches: &'static [&'static str],
    /// The only values of switches that enable the mesh. Other switches do so with any value that does not mean "off".
    pub values: &'static [(&'static str, &'static str)],
    /// Names of the proxy containers that the injector adds.
    pub containers: &'static [&'static str],
    /// Names of the proxy's volumes.
    pub volumes: &'static [&'static str],
    /// API groups whose objects are all facts for the mesh.
    pub groups: &'static [&'static str],
    /// Kinds of other API groups that contain facts for the mesh.
    pub shared: &'static [SharedKind],
}

/// A kind of objects that several meshes, or none, use.
pub(in crate::mesh) struct SharedKind {
    /// Its API group.
    pub group: &'static str,
    /// Its name.
    pub kind: &'static str,
    /// Tells from the `spec` whether an object is a fact for the mesh.
    pub is_fact: fn(NodeRef<'_>) -> bool,
}

impl MeshMarkers {
    /// No markers.
    pub(in crate::mesh) const NONE: Self = Self {
        prefixes: &[],
        switches: &[],
        values: &[],
        containers: &[],
        volumes: &[],
        groups: &[],
        shared: &[],
    };

    /// Returns the condition for objects of a shared kind.
    pub(in crate::mesh) fn shared(&self, group: &str, kind: &str) -> Option<&'static SharedKind> {
        self.shared
            .iter()
            .find(|shared| (shared.group, shared.kind) == (group, kind))
    }
}

/// The source of a model, for `docs/matrix.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupSource {
    /// Code of the mesh: project, release or commit, and file.
    Code(&'static str),
    /// Documentation of the mesh, because its code was not run.
    Documentation(&'static str),
}

/// A configuration of a mesh whose treatment of each handler is documented.
#[derive(Clone, Copy, Debug)]
pub struct MeshSetup {
    /// The title of its tables.
    pub title: &'static str,
    /// The releases that are shown, as major and minor numbers, in ascending order.
    pub releases: &'static [(u16, u16)],
    /// The one of `releases` that is a state of development.
    pub unreleased: Option<(u16, u16)>,
    /// The annotations of the pods, as the text between the braces of a YAML flow mapping.
    pub annotations: &'static str,
    /// The documents before the pods, each followed by `---`. The pods are in namespace `shop`.
    pub objects: &'static str,
    /// The source of its treatment of handlers; empty for Istio, whose sources differ from cause to cause.
    pub source: SetupSource,
}

impl MeshSetup {
    /// A configuration without annotations and objects.
    pub(in crate::mesh) const NONE: Self = Self {
        title: "",
        releases: &[],
        unreleased: None,
        annotations: "",
        objects: "",
        source: SetupSource::Code(""),
    };
}
