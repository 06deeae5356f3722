//! A webhook that calls the injector.

use crate::finding::Label;
use crate::kube::Requirements;

/// One webhook that calls the injector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// Its name, such as `namespace.sidecar-injector.istio.io`.
    pub name: String,
    /// The tag that the configuration belongs to; `None` for the revision itself.
    pub tag: Option<String>,
    /// `namespaceSelector`.
    pub namespaces: Requirements,
    /// `objectSelector`.
    pub objects: Requirements,
    /// The position of its name.
    pub place: Label,
    /// A condition that is not evaluated: `matchConditions`, or an operator of a selector that
    /// Kubernetes does not know.
    pub unevaluated: Option<Label>,
}

impl Webhook {
    /// Returns whether the API server calls the injector for a pod, as far as the selectors can be
    /// read; `namespace` and `pod` return the values of their labels.
    pub fn matches<'a>(
        &self,
        namespace: impl Fn(&str) -> Option<&'a str>,
        pod: impl Fn(&str) -> Option<&'a str>,
    ) -> bool {
        self.namespaces.may_match(namespace) && self.objects.may_match(pod)
    }
}
