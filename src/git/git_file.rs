//! A file of git with another content than on disk.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// A file of git whose content is computed when it is read.
pub(super) struct GitFile {
    compute: Box<dyn Fn() -> Vec<u8> + Send + Sync>,
    content: OnceLock<Arc<[u8]>>,
}

impl GitFile {
    pub(super) fn new(content: impl Fn() -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self {
            compute: Box::new(content),
            content: OnceLock::new(),
        }
    }

    pub(super) fn content(&self) -> &Arc<[u8]> {
        self.content.get_or_init(|| (self.compute)().into())
    }
}

impl fmt::Debug for GitFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("GitFile").finish_non_exhaustive()
    }
}
