//! The files below some folders, and no others.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::disk::ReadFiles;
use super::file_system::FileSystem;
use super::kind::without_dots;
use super::{Entry, Kind, OpenFile};

/// The folders whose files a run may read.
#[derive(Clone, Debug)]
pub struct Confinement {
    folders: Arc<[PathBuf]>,
    is_stopped: Arc<AtomicBool>,
}

impl Confinement {
    /// Allows to read the files below `folders`, which are resolved paths. After `is_stopped` is set, every access fails, so
    /// that a run that no one waits for ends soon.
    #[must_use]
    pub fn new(folders: Vec<PathBuf>, is_stopped: Arc<AtomicBool>) -> Self {
        Self {
            folders: folders.into(),
            is_stopped,
        }
    }

    /// Returns whether a resolved path is in one of the folders. Compares text only.
    #[must_use]
    pub fn contains(&self, path: &Path) -> bool {
        self.folders.iter().any(|folder| path.starts_with(folder))
    }

    /// Returns a view of the files below the folders. All other paths look like paths that the system does not allow to
    /// read, also if a link leads to them.
    #[must_use]
    pub fn of(&self, files: FileSystem) -> FileSystem {
        FileSystem::new(ConfinedFiles {
            confinement: self.clone(),
            files,
        })
    }
}

/// The view of [`Confinement::of`].
#[derive(Debug)]
struct ConfinedFiles {
    confinement: Confinement,
    files: FileSystem,
}

impl ConfinedFiles {
    /// Checks that a path is in one of the folders. Compares text only.
    fn check(&self, path: &Path) -> io::Result<()> {
        if self.confinement.is_stopped.load(Ordering::Relaxed) {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the run was stopped",
            ));
        }
        if self.confinement.contains(path) {
            Ok(())
        } else {
            Err(outside())
        }
    }

    /// Resolves a path, both ends of which are in the folders.
    fn resolved(&self, path: &Path) -> io::Result<PathBuf> {
        // Paths outside are not accessed, as far as their text shows where they lead.
        self.check(&without_dots(path))?;
        let real = self.files.canonical(path)?;
        self.check(&real)?;
        Ok(real)
    }

    /// Resolves the folder of an entry, but not the entry, which may be a link.
    fn resolved_entry(&self, path: &Path) -> io::Result<PathBuf> {
        match (path.parent(), path.file_name()) {
            (Some(folder), Some(name))
                if !self.confinement.folders.iter().any(|folder| folder == path) =>
            {
                Ok(self.resolved(folder)?.join(name))
            }
            _ => self.resolved(path),
        }
    }
}

fn outside() -> io::Error {
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        "it is outside of the directories that may be read",
    )
}

impl ReadFiles for ConfinedFiles {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.resolved(path)
    }

    fn kind(&self, path: &Path) -> io::Result<Kind> {
        self.files.kind(&self.resolved(path)?)
    }

    fn symlink_kind(&self, path: &Path) -> io::Result<Kind> {
        self.files.symlink_kind(&self.resolved_entry(path)?)
    }

    fn file_length(&self, path: &Path) -> io::Result<Option<u64>> {
        self.files.file_length(&self.resolved(path)?)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        self.files.read_link(&self.resolved_entry(path)?)
    }

    fn entries(&self, path: &Path) -> io::Result<Vec<io::Result<Entry>>> {
        self.files.entries(&self.resolved(path)?)
    }

    fn open_file(&self, path: &Path) -> io::Result<OpenFile> {
        self.resolved(path)?;
        self.files.open_file(path)
    }

    fn is_tracked(&self, path: &Path) -> bool {
        self.files.is_tracked(path)
    }

    /// Opens regular files only: a pipe or a device could block the run.
    fn open_following(&self, path: &Path) -> io::Result<OpenFile> {
        self.files.open_file(&self.resolved(path)?)
    }
}
