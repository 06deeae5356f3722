//! The files on disk.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::path_problem::PathProblem;
use super::read_files::ReadFiles;
use super::{Entry, Kind, OpenFile, canonical};

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
        let entry = |entry: io::Result<fs::DirEntry>| {
            let entry = entry?;
            let kind = Kind::from(entry.file_type()?);
            let name = entry.file_name();
            Ok(Entry { name, kind })
        };
        Ok(fs::read_dir(path)?.map(entry).collect())
    }

    fn open_file(&self, path: &Path) -> io::Result<OpenFile> {
        // Opening a pipe would wait for a writer.
        match Kind::from(fs::symlink_metadata(path)?.file_type()) {
            Kind::File => OpenFile::on_disk(File::open(path)?),
            Kind::Link => Err(io::Error::other("a symbolic link is in the way")),
            _ => Err(io::Error::other("it is not a regular file")),
        }
    }

    fn open_following(&self, path: &Path) -> io::Result<OpenFile> {
        OpenFile::on_disk(File::open(path)?)
    }
}

/// Returns the error of the system for a problem with a path.
#[cfg(unix)]
#[must_use]
pub fn path_error(problem: PathProblem) -> io::Error {
    let is_linux = cfg!(any(target_os = "linux", target_os = "android"));
    // ENOENT, ENOTDIR, ENAMETOOLONG, ELOOP and EINVAL; the third and the fourth have other numbers on macOS and BSD.
    io::Error::from_raw_os_error(match problem {
        PathProblem::Missing => 2,
        PathProblem::NotAFolder => 20,
        PathProblem::TooLong if is_linux => 36,
        PathProblem::TooLong => 63,
        PathProblem::TooManyLinks if is_linux => 40,
        PathProblem::TooManyLinks => 62,
        PathProblem::NotALink => 22,
    })
}

/// Returns the error of the system for a problem with a path.
#[cfg(not(unix))]
#[must_use]
pub fn path_error(problem: PathProblem) -> io::Error {
    match problem {
        PathProblem::Missing => io::ErrorKind::NotFound.into(),
        PathProblem::NotAFolder => io::ErrorKind::NotADirectory.into(),
        PathProblem::TooLong => io::ErrorKind::InvalidFilename.into(),
        PathProblem::TooManyLinks => io::Error::other("too many levels of symbolic links"),
        PathProblem::NotALink => io::ErrorKind::InvalidInput.into(),
    }
}
