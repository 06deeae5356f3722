//! Reads objects as files, and records those that cannot be read.
//!
//! Sources: git 2.47, `Documentation/gitformat-loose.txt` and `object-file.c` (`format_object_header`), for the names of
//! contents; git-lfs 3.6, `docs/spec.md` ("The Pointer"), for files that Git LFS stores outside of the objects of git.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sha1::{Digest as _, Sha1};

use super::blobs::EAGER;
use super::error::GitError;
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

/// Returns whether an object with this name has this content. Returns `false` for names of repositories that do not use
/// SHA-1.
pub(super) fn is_name_of(name: &str, content: &[u8]) -> bool {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    let digits = name.as_bytes().chunks_exact(2);
    let hash = hash.finalize();
    name.len() == 2 * hash.len()
        && digits.zip(hash).all(|(pair, byte)| {
            let pair = str::from_utf8(pair).ok();
            pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) == Some(byte)
        })
}

/// Length in bytes below which a file may be a pointer.
pub(super) const LONGEST: u64 = 1024;

const FIRST_LINE: &str = "version https://git-lfs.github.com/spec/v1\n";

/// Returns the hash of the file that Git LFS stores, if the content of a file is a pointer to one.
#[must_use]
pub fn lfs_object(bytes: &[u8]) -> Option<String> {
    let pointer = ((bytes.len() as u64) < LONGEST).then(|| Pointer::parse(bytes));
    pointer.flatten().map(|pointer| pointer.object)
}

/// Content of a file that Git LFS stores.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pointer {
    object: String,
    length: u64,
}

impl Pointer {
    /// Parses the content of a file; `None` if it is not a pointer.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let fields = str::from_utf8(bytes).ok()?.strip_prefix(FIRST_LINE)?;
        let value = |key: &str| fields.lines().find_map(|line| line.strip_prefix(key));
        let object = value("oid sha256:")?;
        let is_name = object.len() == 64 && object.bytes().all(|byte| byte.is_ascii_hexdigit());
        Some(Self {
            object: is_name.then(|| object.to_owned())?,
            length: value("size ")?.parse().ok()?,
        })
    }

    /// Returns the file that stores the content, below the folder that all working trees of a clone share.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub(super) fn stored_in(&self, common: &Path) -> Result<(PathBuf, u64), String> {
        let (first, rest) = self.object.split_at_checked(2).unwrap_or_default();
        let second = rest.get(..2).unwrap_or_default();
        let mut path = common.join("lfs/objects");
        path.extend([first, second, &self.object]);
        let found = std::fs::symlink_metadata(&path);
        if found.is_ok_and(|found| found.is_file() && found.len() == self.length) {
            return Ok((path, self.length));
        }
        let object = &self.object;
        Err(format!(
            "Git LFS object {object} is not stored locally; run `git lfs fetch` for the revision"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_contents_are_recognized() {
        // From `git hash-object`.
        let empty = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
        let line = "ce013625030ba8dba906f756967f9e9ca394464a";
        assert!(is_name_of(empty, b"") && is_name_of(line, b"hello\n"));
        assert!(!is_name_of(empty, b"hello\n") && !is_name_of(line, b"hello\r\n"));
        assert!(!is_name_of("", b"") && !is_name_of(empty.trim_end_matches("91"), b""));
        assert!(!is_name_of(&format!("{empty}00"), b""));
    }

    #[test]
    fn pointers_are_recognized() {
        let object = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
        let text = format!(
            "version https://git-lfs.github.com/spec/v1\noid sha256:{object}\nsize 12345\n"
        );
        let pointer = Pointer::parse(text.as_bytes()).unwrap();
        assert_eq!((pointer.object.as_str(), pointer.length), (object, 12345));
        for other in [
            "",
            "kind: Pod\n",
            "version https://git-lfs.github.com/spec/v1\noid sha256:../x\nsize 1\n",
        ] {
            assert_eq!(Pointer::parse(other.as_bytes()), None);
        }
    }
}
