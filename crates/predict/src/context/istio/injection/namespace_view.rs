//! The labels of a Namespace that decide about injection.

use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_yaml::Entry;

/// The labels of a namespace; empty if its Namespace is not in the tree.
#[derive(Clone, Debug)]
pub(in crate::context) struct NamespaceView<'t> {
    pub(in crate::context) injection: Option<Entry<'t>>,
    pub(in crate::context) revision: Option<Entry<'t>>,
    pub(in crate::context) mode: Option<Entry<'t>>,
    pub(in crate::context) object: Option<&'t Object<'t>>,
}

impl<'t> NamespaceView<'t> {
    pub(in crate::context) fn of(object: &'t Object<'t>) -> Self {
        Self {
            injection: object.label(keys::NAMESPACE_INJECTION),
            revision: object.label(keys::REVISION),
            mode: object.label(keys::DATAPLANE_MODE),
            object: Some(object),
        }
    }

    /// Returns the view of a Namespace that is not in the tree.
    pub(in crate::context) const fn unknown() -> Self {
        Self {
            injection: None,
            revision: None,
            mode: None,
            object: None,
        }
    }
}
