//! Reads objects, and records those that cannot be read.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::blob_name::is_name_of;
use super::blobs::EAGER;
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

    /// Returns the content of an object that the file at its path has as well. A checkout may convert line breaks or
    /// apply filters, so the content is compared by its name.
    fn bytes_on_disk(path: &Path, object: &Object) -> Option<Vec<u8>> {
        let file = Disk.open_file(path).ok()?;
        if file.length() > EAGER {
            return None;
        }
        let bytes = file.read(EAGER).ok()?;
        is_name_of(&object.name, &bytes).then_some(bytes)
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
        let bytes = match Self::bytes_on_disk(path, object) {
            Some(bytes) => bytes,
            None => {
                let found = self.found(path, object, object.blobs.find(&object.name))?;
                match found.bytes {
                    Some(bytes) => bytes,
                    None => {
                        let (reader, path, object) =
                            (self.clone(), path.to_path_buf(), object.clone());
                        return Ok(OpenFile::stored(found.length, move || {
                            reader.bytes(&path, &object)
                        }));
                    }
                }
            }
        };
        match self.stored_by_lfs(&bytes) {
            Some(stored) => Disk.open_file(&stored.map_err(io::Error::other)?.0),
            None => Ok(OpenFile::stored(bytes.len() as u64, || Ok(bytes))),
        }
    }

    /// Returns the length of a file in bytes.
    pub(super) fn file_length(&self, path: &Path, object: &Object) -> io::Result<u64> {
        if let Some(bytes) = Self::bytes_on_disk(path, object) {
            return Ok(self.length_of(&bytes));
        }
        let length = self.found(path, object, object.blobs.length(&object.name))?;
        if length >= LONGEST {
            return Ok(length);
        }
        Ok(self.length_of(&self.bytes(path, object)?))
    }

    /// Returns the length of the file for the content of an object.
    fn length_of(&self, bytes: &[u8]) -> u64 {
        let stored = self.stored_by_lfs(bytes).and_then(Result::ok);
        stored.map_or(bytes.len() as u64, |stored| stored.1)
    }

    /// Returns the file in which Git LFS stores the content, and its length, if the content is a pointer to it.
    fn stored_by_lfs(&self, bytes: &[u8]) -> Option<Result<(PathBuf, u64), String>> {
        let pointer = Pointer::parse(bytes).filter(|_| (bytes.len() as u64) < LONGEST)?;
        Some(pointer.stored_in(&self.0.repository.common))
    }
}
