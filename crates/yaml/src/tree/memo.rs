//! A result that is computed when it is first needed.

use std::sync::OnceLock;

/// A result that follows from the other fields of a value, and that is computed when it is first needed. It does not count
/// in comparisons, and copies do not have it, because they may be changed.
#[derive(Debug)]
pub(crate) struct Memo<T>(OnceLock<T>);

impl<T> Memo<T> {
    /// Returns the result. Computes it if it is not known.
    pub(crate) fn get_or_compute(&self, compute: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(compute)
    }
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> Clone for Memo<T> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<T> PartialEq for Memo<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Memo<T> {}
