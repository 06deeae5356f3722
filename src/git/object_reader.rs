//! Reads objects, and records those that cannot be read.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::GitError;
use super::failures::Failures;
use super::lfs::{LONGEST, Pointer};
use super::repository::Repository;
use super::tree::{Object, is_partial};
use crate::filesystem::{Disk, OpenFile, ReadFiles as _};

/// Reads objects, and records those that cannot be read.
#[derive(Clone, Debug)]
pub(super) struct ObjectReader(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    failures: Failures,
    repository: Repository,
    /// Whether the clone leaves out objects.
    is_partial: std::sync::OnceLock<bool>,
}

impl ObjectReader {
    pub(super) fn new(repository: &Repository, failures: Failures) -> Self {
        Self(Arc::new(Shared {
            failures,
            repository: repository.clone(),
            is_partial: std::sync::OnceLock::new(),
        }))
    }

    /// Returns the bytes of an object.
    pub(super) fn bytes(&self, path: &Path, object: &Object) -> io::Result<Vec<u8>> {
        self.found(path, object, object.blobs.bytes(&object.name))
    }

    fn length(&self, path: &Path, object: &Object) -> io::Result<u64> {
        self.found(path, object, object.blobs.length(&object.name))
    }

    fn found<T>(&self, path: &Path, object: &Object, read: io::Result<Option<T>>) -> io::Result<T> {
        let shared = &self.0;
        let is_partial = || {
            let git = &shared.repository.git;
            *shared.is_partial.get_or_init(|| is_partial(git))
        };
        let error = match read {
            Ok(Some(found)) => return Ok(found),
            // Old releases of git fail if they must not fetch an object that a partial clone leaves out.
            Err(error) if !is_partial() => {
                GitError::Failed("cat-file".to_owned(), error.to_string())
            }
            Ok(None) | Err(_) => GitError::MissingObject {
                object: object.name.clone(),
                is_partial: is_partial(),
            },
        };
        let message = error.to_string();
        shared.failures.add(path, error);
        Err(io::Error::other(message))
    }

    /// Opens a file. Reads the content of a large one only when it is read.
    pub(super) fn open(&self, path: &Path, object: &Object) -> io::Result<OpenFile> {
        let length = self.length(path, object)?;
        if length >= LONGEST {
            let (reader, path, object) = (self.clone(), path.to_path_buf(), object.clone());
            return Ok(OpenFile::stored(length, move || {
                reader.bytes(&path, &object)
            }));
        }
        let bytes = self.bytes(path, object)?;
        match self.stored_by_lfs(&bytes) {
            Some(stored) => Disk.open_file(&stored.map_err(io::Error::other)?.0),
            None => Ok(OpenFile::stored(length, || Ok(bytes))),
        }
    }

    /// Returns the length of a file in bytes.
    pub(super) fn file_length(&self, path: &Path, object: &Object) -> io::Result<u64> {
        let length = self.length(path, object)?;
        if length >= LONGEST {
            return Ok(length);
        }
        let stored = self.stored_by_lfs(&self.bytes(path, object)?);
        Ok(stored
            .and_then(Result::ok)
            .map_or(length, |stored| stored.1))
    }

    /// Returns the file in which Git LFS stores the content, and its length, if the content is a pointer to it.
    fn stored_by_lfs(&self, bytes: &[u8]) -> Option<Result<(PathBuf, u64), String>> {
        let pointer = Pointer::parse(bytes)?;
        Some(pointer.stored_in(&self.0.repository.common))
    }
}
