//! Where the sources of Flux and Argo CD are.

use std::fmt::Debug;
use std::sync::Arc;

use crate::kube::Object;
use crate::yaml::NodeRef;

/// Where the files of a source are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourcePlace {
    /// In the repository of the object that names it, as far as is known.
    Here,
    /// Below the root of another repository of the run.
    Below(Arc<str>),
    /// In a repository that is not part of the run.
    Elsewhere,
}

/// Decides where sources are.
pub trait SourcePlaces: Debug {
    /// Returns the place of a source that `object` names: a source of an Application, or the `spec` of a chart of Flux.
    fn place(&self, object: &Object<'_>, source: NodeRef<'_>) -> SourcePlace;
}
