//! Reads objects as files, and records those that cannot be read.
//!
//! Sources: git 2.47, `Documentation/gitformat-loose.txt` and `object-file.c` (`format_object_header`), for the names of
//! contents; git-lfs 3.6, `docs/spec.md` ("The Pointer"), for files that Git LFS stores elsewhere, which are not read.
//!
//! The files of a revision, read as if they were on disk.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashSet;
use sha1::{Digest as _, Sha1};

use super::command::path_of;
use super::error::GitError;
use super::repository::Repository;
use super::tree::{EAGER, Node, Object, Tree, is_partial};
use crate::filesystem::{Disk, Entry, Kind, OpenFile, PathProblem, ReadFiles, path_error};

/// Maximum length of a path in bytes, as in Linux.
pub(super) const LONGEST_PATH: usize = 4095;

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

    /// Returns the target of a link, which the system limits.
    fn target(&self, path: &Path, object: &Object) -> io::Result<PathBuf> {
        let limit = LONGEST_PATH as u64 + 1;
        let target = self.found(path, object, object.blobs.start(&object.name, limit))?;
        match target.len() > LONGEST_PATH {
            true => Err(path_error(PathProblem::TooLong)),
            false => Ok(path_of(&target)),
        }
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
                let length = found.length;
                let Some(bytes) = found.whole() else {
                    let (reader, path, object) = (self.clone(), path.to_path_buf(), object.clone());
                    return Ok(OpenFile::stored(length, move |limit| {
                        let start = object.blobs.start(&object.name, limit);
                        reader.found(&path, &object, start)
                    }));
                };
                bytes
            }
        };
        Ok(OpenFile::stored(bytes.len() as u64, |_| Ok(bytes)))
    }

    /// Returns the length of a file in bytes.
    pub(super) fn file_length(&self, path: &Path, object: &Object) -> io::Result<u64> {
        match Self::bytes_on_disk(path, object) {
            Some(bytes) => Ok(bytes.len() as u64),
            None => self.found(path, object, object.blobs.length(&object.name)),
        }
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

/// Returns the hash of the file that Git LFS stores, if the content of a file is a pointer to one.
#[must_use]
pub fn lfs_object(bytes: &[u8]) -> Option<String> {
    const FIRST_LINE: &str = "version https://git-lfs.github.com/spec/v1\n";
    let text = str::from_utf8(bytes)
        .ok()
        .filter(|text| text.len() < 1024)?;
    let mut fields = text.strip_prefix(FIRST_LINE)?.lines();
    let object = fields.find_map(|line| line.strip_prefix("oid sha256:"))?;
    let is_name = object.len() == 64 && object.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_name.then(|| object.to_owned())
}

/// Name of the folder or file of git in a working tree.
const GIT: &str = ".git";

/// The files of a revision at the paths of the working tree, and all other files of the disk.
#[derive(Debug)]
pub(super) struct ObjectFiles {
    /// The resolved root of the working tree.
    root: PathBuf,
    /// The folder of git, if it is not at its usual path in the root.
    bare: Option<PathBuf>,
    tree: Tree,
    /// Whether the tree contains submodules.
    has_submodules: bool,
    reader: ObjectReader,
    /// Whether only paths that do not exist on disk are read from the tree.
    pub(super) prefers_disk: bool,
}

/// Where a path is stored.
#[derive(Debug)]
pub(super) enum Place<'f> {
    Disk(PathBuf),
    Tree(&'f Node),
}

impl ObjectFiles {
    pub(super) fn new(repository: &Repository, tree: Tree, failures: Failures) -> Self {
        Self {
            root: repository.root.clone(),
            bare: repository.is_bare.then(|| repository.own.clone()),
            has_submodules: tree.has_submodules(),
            tree,
            reader: ObjectReader::new(repository, failures),
            prefers_disk: false,
        }
    }

    /// Returns whether a path, relative to the root, is that of a submodule or of a file in it.
    fn is_in_submodule(&self, below: &Path) -> bool {
        let node = |path: &Path| matches!(self.tree.get(path), Some(Node::Submodule));
        self.has_submodules && below.ancestors().any(node)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the entry of the tree at a path relative to its root.
    pub(super) fn node(&self, below: &Path) -> Option<&Node> {
        self.tree.get(below)
    }

    /// Returns where a path without links and `..` is stored. A link at its end is not followed.
    ///
    /// # Errors
    /// The path does not exist.
    pub(super) fn place(&self, path: &Path) -> io::Result<Place<'_>> {
        let below = match self.spelled_below(path) {
            Some(below) => below,
            None => {
                let Ok(below) = path.strip_prefix(&self.root) else {
                    return Ok(Place::Disk(path.to_path_buf()));
                };
                let is_of_git = below.components().any(|part| part.as_os_str() == GIT);
                if is_of_git && let Some(place) = self.place_in_git(path, below) {
                    return Ok(place);
                }
                below
            }
        };
        if self.prefers_disk && path.symlink_metadata().is_ok() {
            return Ok(Place::Disk(path.to_path_buf()));
        }
        if self.is_in_submodule(below) {
            return Ok(Place::Disk(path.to_path_buf()));
        }
        let node = self.tree.get(below).map(Place::Tree);
        node.ok_or_else(|| path_error(PathProblem::Missing))
    }

    /// Returns where a path is stored that is `.git`, or below it; `None` if git does not use this folder.
    fn place_in_git(&self, path: &Path, below: &Path) -> Option<Place<'_>> {
        if let Ok(rest) = below.strip_prefix(GIT) {
            return Some(match &self.bare {
                Some(folder) if rest.as_os_str().is_empty() => Place::Disk(folder.clone()),
                Some(folder) => Place::Disk(folder.join(rest)),
                None => Place::Disk(path.to_path_buf()),
            });
        }
        None
    }

    /// Returns the target of a link of the tree.
    pub(super) fn target(&self, path: &Path, object: &Object) -> io::Result<PathBuf> {
        self.reader.target(path, object)
    }

    /// Returns the kind of the entry at a path without links and `..`.
    pub(super) fn kind_at(&self, path: &Path) -> io::Result<Kind> {
        match self.place(path)? {
            Place::Disk(path) => Disk.symlink_kind(&path),
            Place::Tree(node) => Ok(node.kind()),
        }
    }

    fn open_at(&self, path: &Path) -> io::Result<OpenFile> {
        match self.place(path)? {
            Place::Disk(path) => Disk.open_file(&path),
            Place::Tree(Node::File(object)) => self.reader.open(path, object),
            Place::Tree(Node::Link(_)) => Err(io::Error::other("a symbolic link is in the way")),
            Place::Tree(_) => Err(io::Error::other("it is not a regular file")),
        }
    }

    /// Returns the entries of a folder of the tree, with those that are on disk: `.git`, and the rest of a working tree
    /// that is only partly read from the tree.
    fn entries_of(&self, path: &Path, below: &Path) -> io::Result<Vec<io::Result<Entry>>> {
        let on_disk = self.prefers_disk && path.symlink_metadata().is_ok();
        let mut entries = match on_disk {
            true => Disk.entries(path)?,
            false => Vec::new(),
        };
        let names = entries.iter().flatten().map(|entry| entry.name.clone());
        let known: HashSet<OsString> = names.collect();
        let stored = self.tree.entries(below).iter();
        let stored = stored.filter(|entry| !known.contains(&entry.name));
        entries.extend(stored.cloned().map(Ok));
        let git = path.join(GIT);
        if below.as_os_str().is_empty()
            && !on_disk
            && let Ok(kind) = self.kind_at(&git)
        {
            let name = GIT.into();
            entries.push(Ok(Entry { name, kind }));
        }
        Ok(entries)
    }
}

impl ReadFiles for ObjectFiles {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.resolved(path, true)
    }

    fn kind(&self, path: &Path) -> io::Result<Kind> {
        if let Some(found) = self.direct(path) {
            return found.map(Node::kind);
        }
        self.kind_at(&self.resolved(path, true)?)
    }

    fn symlink_kind(&self, path: &Path) -> io::Result<Kind> {
        if let Some(found) = self.direct(path) {
            return found.map(Node::kind);
        }
        self.kind_at(&self.resolved(path, false)?)
    }

    fn file_length(&self, path: &Path) -> io::Result<Option<u64>> {
        let real = self.resolved(path, true)?;
        match self.place(&real)? {
            Place::Disk(path) => Disk.file_length(&path),
            Place::Tree(Node::File(object)) => Ok(Some(self.reader.file_length(&real, object)?)),
            Place::Tree(_) => Ok(None),
        }
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        let real = self.resolved(path, false)?;
        match self.place(&real)? {
            Place::Disk(path) => Disk.read_link(&path),
            Place::Tree(Node::Link(object)) => self.target(&real, object),
            Place::Tree(_) => Err(path_error(PathProblem::NotALink)),
        }
    }

    fn entries(&self, path: &Path) -> io::Result<Vec<io::Result<Entry>>> {
        let below = path.strip_prefix(&self.root);
        match (self.place(path)?, below) {
            (Place::Tree(Node::Folder), Ok(below)) => self.entries_of(path, below),
            (Place::Disk(disk), Ok(below)) if self.prefers_disk && disk == path => {
                self.entries_of(path, below)
            }
            (Place::Disk(path), _) => Disk.entries(&path),
            (Place::Tree(_), _) => Err(path_error(PathProblem::NotAFolder)),
        }
    }

    fn open_file(&self, path: &Path) -> io::Result<OpenFile> {
        self.open_at(path)
    }

    fn is_tracked(&self, path: &Path) -> bool {
        let below = path.strip_prefix(&self.root);
        !self.prefers_disk && below.is_ok_and(|below| !self.is_in_submodule(below))
    }

    fn open_following(&self, path: &Path) -> io::Result<OpenFile> {
        let real = self.resolved(path, true)?;
        match self.place(&real)? {
            Place::Disk(path) => Disk.open_following(&path),
            Place::Tree(_) => self.open_at(&real),
        }
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
        let first = "version https://git-lfs.github.com/spec/v1\n";
        let text = format!("{first}oid sha256:{object}\nsize 12345\n");
        assert_eq!(lfs_object(text.as_bytes()).as_deref(), Some(object));
        for other in [
            "",
            "kind: Pod\n",
            &format!("{first}oid sha256:../x\nsize 1\n"),
        ] {
            assert_eq!(lfs_object(other.as_bytes()), None);
        }
    }
}
