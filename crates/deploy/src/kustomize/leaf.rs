//! Scalars, and the locations that they come from.

use std::sync::Arc;

use meshprobe_yaml::{Scalar, Span, resolve_plain};

/// Location in a file of the user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Origin {
    /// The file as shown to the user.
    pub(crate) path: Arc<str>,
    /// Bytes of that file.
    pub(crate) span: Span,
}

/// Scalar.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    /// The decoded text of a string; the source text of anything else (`0x1F90`, `true`, or empty).
    pub(crate) text: Arc<str>,
    /// Whether it is a string.
    pub(crate) is_text: bool,
    /// Set if other values of the object are the same node.
    pub(crate) shared_id: Option<SharedNodeId>,
}

impl Leaf {
    /// Returns the typed value.
    pub(crate) fn scalar(&self) -> Scalar<'_> {
        if self.is_text {
            Scalar::Str(&self.text)
        } else {
            resolve_plain(&self.text)
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.scalar() == Scalar::Null
    }
}

/// Identity of a shared node: all values with the same id are one node in kustomize.
pub(crate) type SharedNodeId = Arc<Origin>;
