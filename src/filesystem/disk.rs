//! The files on disk.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::read_files::ReadFiles;
use super::{Entry, Kind, OpenFile, canonical, entries, open_file};

/// The files on disk.
#[derive(Clone, Copy, Debug)]
pub struct Disk;

impl ReadFiles for Disk {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        canonical(path)
    }

    fn kind(&self, path: &Path) -> io::Result<Kind> {
        Ok(fs::metadata(path)?.file_type().into())
    }

    fn symlink_kind(&self, path: &Path) -> io::Result<Kind> {
        Ok(fs::symlink_metadata(path)?.file_type().into())
    }

    fn file_length(&self, path: &Path) -> io::Result<Option<u64>> {
        let metadata = fs::metadata(path)?;
        Ok(metadata.is_file().then_some(metadata.len()))
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        fs::read_link(path)
    }

    fn entries(&self, path: &Path) -> io::Result<Vec<io::Result<Entry>>> {
        entries(path)
    }

    fn open_file(&self, path: &Path) -> io::Result<OpenFile> {
        OpenFile::on_disk(open_file(path)?)
    }

    fn open_following(&self, path: &Path) -> io::Result<OpenFile> {
        OpenFile::on_disk(File::open(path)?)
    }
}
