//! A way to use a mesh, for the tables of `docs/meshes.md` and `docs/matrix.md`.

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
