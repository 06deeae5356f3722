//! Handle to the files that a run reads: those on disk, or those of another state of a repository.

use std::ops::Deref;
use std::sync::Arc;

use super::disk::{Disk, ReadFiles};

/// Handle to the files that a run reads; by default those on disk.
#[derive(Clone, Debug)]
pub struct FileSystem(Arc<dyn ReadFiles>);

impl Default for FileSystem {
    fn default() -> Self {
        Self::new(Disk)
    }
}

impl FileSystem {
    /// Creates a handle.
    pub fn new(files: impl ReadFiles + 'static) -> Self {
        Self(Arc::new(files))
    }
}

impl Deref for FileSystem {
    type Target = dyn ReadFiles;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}
