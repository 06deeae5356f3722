//! A state of a repository whose files differ from those of another one only in their contents.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashMap;

use super::changed::ChangedPaths;
use super::failures::Failures;
use super::object_reader::ObjectReader;
use super::repository::Repository;
use super::snapshot::Snapshot;
use super::tree::Object;
use crate::filesystem::{Entry, FileSystem, Kind, OpenFile, ReadFiles};

/// The files of a state, and other contents of some of them.
#[derive(Debug)]
struct OldContents {
    after: FileSystem,
    /// The objects with the other contents, by resolved path.
    objects: HashMap<PathBuf, Object>,
    reader: ObjectReader,
}

impl Repository {
    /// Returns the state before a change, given the state after it, which has been read; `None` if more than the contents of
    /// regular files changed, or if the state after the change has files that git does not track.
    #[must_use]
    pub fn snapshot_before(&self, after: &Snapshot, changed: &ChangedPaths) -> Option<Snapshot> {
        let contents = changed.old_contents().filter(|_| after.is_tracked())?;
        let object = |name: &String| Object {
            name: name.clone(),
            blobs: Arc::clone(&self.known.blobs),
        };
        let failures = Failures::default();
        let files = OldContents {
            after: after.files(),
            objects: contents
                .iter()
                .map(|(path, name)| (self.root.join(path), object(name)))
                .collect(),
            reader: ObjectReader::new(self, failures.clone()),
        };
        Some(Snapshot::with_files(FileSystem::new(files), failures))
    }
}

impl ReadFiles for OldContents {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.after.canonical(path)
    }

    fn kind(&self, path: &Path) -> io::Result<Kind> {
        self.after.kind(path)
    }

    fn symlink_kind(&self, path: &Path) -> io::Result<Kind> {
        self.after.symlink_kind(path)
    }

    fn file_length(&self, path: &Path) -> io::Result<Option<u64>> {
        let real = self.after.canonical(path)?;
        match self.objects.get(&real) {
            Some(object) => Ok(Some(self.reader.file_length(&real, object)?)),
            None => self.after.file_length(path),
        }
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        self.after.read_link(path)
    }

    fn entries(&self, path: &Path) -> io::Result<Vec<io::Result<Entry>>> {
        self.after.entries(path)
    }

    fn open_file(&self, path: &Path) -> io::Result<OpenFile> {
        match self.objects.get(path) {
            Some(object) => self.reader.open(path, object),
            None => self.after.open_file(path),
        }
    }

    fn is_tracked(&self, path: &Path) -> bool {
        self.after.is_tracked(path)
    }

    fn open_following(&self, path: &Path) -> io::Result<OpenFile> {
        let real = self.after.canonical(path)?;
        match self.objects.get(&real) {
            Some(object) => self.reader.open(&real, object),
            None => self.after.open_following(path),
        }
    }
}
