//! Objects that could not be read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::error::GitError;

/// Objects that could not be read, by the path of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures(Arc<Mutex<BTreeMap<PathBuf, GitError>>>);

impl Failures {
    /// Adds an object.
    pub(super) fn add(&self, path: &Path, error: GitError) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failures.insert(path.to_path_buf(), error);
    }

    /// Returns the first object in the order of paths, which does not depend on the threads of the run.
    pub(super) fn first(&self) -> Option<(PathBuf, GitError)> {
        let failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (path, error) = failures.first_key_value()?;
        Some((path.clone(), error.clone()))
    }
}
