//! Files with a record of those whose contents were read.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashSet;

use crate::filesystem::{Entry, FileSystem, Kind, OpenFile, ReadFiles};

/// The resolved paths of files whose content or length was read.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadPaths(Arc<Mutex<HashSet<OsString>>>);

impl ReadPaths {
    fn add(&self, path: &Path) {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        paths.insert(path.as_os_str().to_owned());
    }

    pub(super) fn contains(&self, path: &Path) -> bool {
        let paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        paths.contains(path.as_os_str())
    }
}

/// Files whose reads are recorded.
#[derive(Debug)]
pub(super) struct RecordedFiles {
    pub(super) files: FileSystem,
    pub(super) read: ReadPaths,
}

impl RecordedFiles {
    fn add_following(&self, path: &Path) {
        if let Ok(real) = self.files.canonical(path) {
            self.read.add(&real);
        }
    }
}

impl ReadFiles for RecordedFiles {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.files.canonical(path)
    }

    fn kind(&self, path: &Path) -> io::Result<Kind> {
        self.files.kind(path)
    }

    fn symlink_kind(&self, path: &Path) -> io::Result<Kind> {
        self.files.symlink_kind(path)
    }

    fn file_length(&self, path: &Path) -> io::Result<Option<u64>> {
        self.add_following(path);
        self.files.file_length(path)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        self.files.read_link(path)
    }

    fn entries(&self, path: &Path) -> io::Result<Vec<io::Result<Entry>>> {
        self.files.entries(path)
    }

    fn open_file(&self, path: &Path) -> io::Result<OpenFile> {
        self.read.add(path);
        self.files.open_file(path)
    }

    fn is_tracked(&self, path: &Path) -> bool {
        self.files.is_tracked(path)
    }

    fn open_following(&self, path: &Path) -> io::Result<OpenFile> {
        self.add_following(path);
        self.files.open_following(path)
    }
}
