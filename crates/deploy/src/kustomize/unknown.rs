//! A setting of a kustomization that is not supported, or that kustomize refuses.

use meshprobe_yaml::Span;

use crate::kustomize::rendering::Topic;

/// Setting that is not supported.
pub(crate) struct Unknown {
    pub(crate) span: Span,
    pub(crate) message: String,
    pub(crate) topic: Topic,
    /// Whether it adds unknown objects.
    pub(crate) has_unknown_objects: bool,
    /// Whether these objects may run pods.
    pub(crate) may_add_pods: bool,
    /// Whether it may change all objects.
    pub(crate) changes_all: bool,
}
