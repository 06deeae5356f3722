//! A way to use a mesh, for the tables of `docs/meshes.md`.

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
}

impl MeshSetup {
    /// A configuration without annotations and objects.
    pub(in crate::mesh) const NONE: Self = Self {
        title: "",
        releases: &[],
        unreleased: None,
        annotations: "",
        objects: "",
    };
}
