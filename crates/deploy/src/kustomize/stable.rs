//! Content that records that a merge keeps it.
//!
//! Each strategic merge patch is merged with the whole object. Without the record, parts of the object that a patch
//! does not name are merged again with each patch, although only the first merge can change them.

use std::ops::{Deref, DerefMut};

use crate::kustomize::schema::Type;

/// Keys by which a list is merged; empty for a mapping.
pub(crate) type Keys = &'static [&'static str];

/// Content of a mapping or a list. Any access for modification drops the record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stable<T> {
    content: T,
    /// The merge that keeps the content: the type of the mapping or of the items of the list, and the keys.
    kept_by: Option<(Type, Keys)>,
}

impl<T> Stable<T> {
    /// Records that the merge by a type and keys keeps the content if the patch has no value for it.
    pub(crate) fn kept_by(content: T, kind: Type, keys: Keys) -> Self {
        Self {
            content,
            kept_by: Some((kind, keys)),
        }
    }

    /// Returns whether the merge by a type and keys keeps the content. `false` is not certain.
    pub(crate) fn is_kept_by(&self, kind: Type, keys: Keys) -> bool {
        self.kept_by == Some((kind, keys))
    }
}

impl<T> From<T> for Stable<T> {
    fn from(content: T) -> Self {
        Self {
            content,
            kept_by: None,
        }
    }
}

impl<T> Deref for Stable<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.content
    }
}

impl<T> DerefMut for Stable<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.kept_by = None;
        &mut self.content
    }
}
