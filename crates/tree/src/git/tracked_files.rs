//! The files of a working tree, with a record of whether anything was found that git does not track.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hashbrown::HashSet;

use super::index::Index;
use super::tracked_paths::add_with_folders;
use crate::filesystem::{Disk, Entry, Kind, OpenFile, ReadFiles};

/// The name of the folder of git in the root.
const GIT: &str = ".git";

/// Whether anything was found on disk that git does not track, or that may not be tracked.
#[derive(Clone, Debug, Default)]
pub(super) struct FoundUntracked(Arc<AtomicBool>);

impl FoundUntracked {
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The files on disk.
///
/// If every answer is about tracked paths, a commit with the same paths gives the same answers, except for the contents of
/// files that differ.
#[derive(Debug)]
pub(super) struct TrackedFiles {
    /// The resolved root.
    root: PathBuf,
    /// The paths of tracked files and of their folders, relative to the root.
    tracked: HashSet<OsString>,
    found: FoundUntracked,
}

impl TrackedFiles {
    /// Creates a handle to the working tree with this index. Returns `None` if it contains a path whose state on disk does
    /// not follow from its name: a link, a submodule, a merge conflict, or a file whose changes git does not see.
    pub(super) fn new(root: &Path, index: &Index, found: FoundUntracked) -> Option<Self> {
        if !index.flagged.is_empty() {
            return None;
        }
        let mut tracked = HashSet::from([OsString::new()]);
        for path in index.regular_files() {
            let path = path?;
            add_with_folders(&mut tracked, path);
        }
        Some(Self {
            root: root.to_path_buf(),
            tracked,
            found,
        })
    }

    /// Returns an answer of the disk about a path, and records whether git tracks the path.
    fn checked<T>(&self, path: &Path, answer: io::Result<T>) -> io::Result<T> {
        if self.found.get() {
            return answer;
        }
        let is_known = match &answer {
            Ok(_) => self.is_tracked(path),
            // Nothing has the path: git would have reported a tracked file that is missing.
            Err(error) => matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ),
        };
        if !is_known {
            self.found.set();
        }
        answer
    }

    /// Returns whether an existing path is tracked, or is outside of the root or in its folder of git.
    fn is_tracked(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.root) else {
            // Another name of the root could lead to files that git does not track.
            let leads_inside = |real: PathBuf| real.starts_with(&self.root);
            return self.root.starts_with(path) || !Disk.canonical(path).is_ok_and(leads_inside);
        };
        if below.starts_with(GIT) || self.tracked.contains(below.as_os_str()) {
            return true;
        }
        // Each folder on a path with `..` must exist.
        let mut place = PathBuf::new();
        below.components().all(|part| {
            match part {
                Component::ParentDir if !place.pop() => return false,
                Component::Normal(name) => place.push(name),
                _ => {}
            }
            self.tracked.contains(place.as_os_str())
        })
    }

    /// Returns whether an entry of a folder is tracked, or is outside of the root or its folder of git.
    fn is_tracked_entry(&self, folder: &Path, name: &OsStr) -> bool {
        match folder.strip_prefix(&self.root) {
            Ok(below) => {
                let is_git = below.as_os_str().is_empty() && name == GIT;
                is_git
                    || below.starts_with(GIT)
                    || self.tracked.contains(below.join(name).as_os_str())
            }
            Err(_) => true,
        }
    }
}

impl ReadFiles for TrackedFiles {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.checked(path, Disk.canonical(path))
    }

    fn kind(&self, path: &Path) -> io::Result<Kind> {
        self.checked(path, Disk.kind(path))
    }

    fn symlink_kind(&self, path: &Path) -> io::Result<Kind> {
        self.checked(path, Disk.symlink_kind(path))
    }

    fn file_length(&self, path: &Path) -> io::Result<Option<u64>> {
        self.checked(path, Disk.file_length(path))
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        self.checked(path, Disk.read_link(path))
    }

    fn entries(&self, path: &Path) -> io::Result<Vec<io::Result<Entry>>> {
        let entries = self.checked(path, Disk.entries(path))?;
        if !self.found.get() {
            let is_known = |entry: &io::Result<Entry>| {
                let entry = entry.as_ref().ok();
                entry.is_some_and(|entry| self.is_tracked_entry(path, &entry.name))
            };
            if !entries.iter().all(is_known) {
                self.found.set();
            }
        }
        Ok(entries)
    }

    fn open_file(&self, path: &Path) -> io::Result<OpenFile> {
        self.checked(path, Disk.open_file(path))
    }

    fn open_following(&self, path: &Path) -> io::Result<OpenFile> {
        self.checked(path, Disk.open_following(path))
    }
}
