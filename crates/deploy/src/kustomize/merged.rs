//! What a step of a merge results in.

use crate::kustomize::limit::Limit;
use crate::kustomize::node::Node;

/// Reason why a patch cannot be applied to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PatchFailure {
    /// kustomize refuses it, too, for this reason.
    Refused(String),
    /// kustomize applies it, but it exceeds a limit of this program.
    Exceeds(Limit),
}

/// Result of a step of the merge.
#[derive(Debug)]
pub(crate) enum Merged {
    /// The value of the object, changed in place.
    Object(Node),
    /// The value of the patch.
    Patch(Node),
    /// The value is deleted.
    Gone,
}

impl Merged {
    pub(crate) fn into_node(self) -> Option<Node> {
        match self {
            Self::Object(node) | Self::Patch(node) => Some(node),
            Self::Gone => None,
        }
    }
}
