//! Where the sources of Flux and Argo CD are, and the values that they refer to.

use std::fmt::Debug;
use std::sync::Arc;

use meshprobe_yaml::NodeRef;

use crate::finding::Label;
use crate::kube::Object;

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

/// Value of a ConfigMap or Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigValue {
    /// The decoded text.
    pub text: String,
    /// The place of its key.
    pub key: Label,
    /// The place of the value: a whole file if a generator copies that.
    pub value: Label,
}

/// Decides where sources are, and finds the values that they refer to.
pub trait SourcePlaces: Debug {
    /// Returns the place of a source that `object` names: a source of an Application, or the `spec` of a chart of Flux.
    fn place(&self, object: &Object<'_>, source: NodeRef<'_>) -> SourcePlace;

    /// Returns the value of `key` in the ConfigMap or Secret with this kind and name that `object` refers to; `None` if
    /// the tree has none.
    ///
    /// # Errors
    /// The value is not known, for the returned reason.
    fn config_value(
        &self,
        object: &Object<'_>,
        reference: (&str, &str),
        key: &str,
    ) -> Result<Option<ConfigValue>, String>;

    /// Returns the displayed path of `entry`, which is relative to a folder of the tree.
    fn joined(&self, folder: &str, entry: &str) -> String;
}
