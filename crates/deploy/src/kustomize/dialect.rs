//! The tool whose fields a kustomization has.

/// The schema of the fields of a kustomization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Dialect {
    /// A file of kustomize.
    Kustomize,
    /// `spec` of a Flux Kustomization.
    Flux,
    /// `kustomize` of a source of an Argo CD Application.
    Argo,
}
