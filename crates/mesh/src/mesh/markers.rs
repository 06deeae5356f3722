//! The markers by which a mesh is recognized in a tree. Each mesh declares its own.

use meshprobe_yaml::NodeRef;

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
