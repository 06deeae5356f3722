//! Access by path, for systems without calls relative to open folders. The path is checked for links before and after
//! opening; a link that exists only in between is not detected.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::path_problem::PathProblem;
use super::{Entry, Kind, canonical};

/// Opens the regular file at a resolved path for reading.
///
/// # Errors
/// The error of the system; also if the path now leads elsewhere, or is not a regular file.
pub fn open_file(path: &Path) -> io::Result<File> {
    let file = resolved(path, || File::open(path))?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

/// Lists the folder at a resolved path, in the order of the system.
///
/// # Errors
/// The same as of [`open_file`]. Entries that cannot be read are errors in the list.
pub fn entries(path: &Path) -> io::Result<Vec<io::Result<Entry>>> {
    let listing = resolved(path, || fs::read_dir(path))?;
    let entry = |entry: io::Result<fs::DirEntry>| {
        let entry = entry?;
        let kind = Kind::from(entry.file_type()?);
        let name = entry.file_name();
        Ok(Entry { name, kind })
    };
    Ok(listing.map(entry).collect())
}

/// Returns the error for a problem with a path.
pub fn path_error(problem: PathProblem) -> io::Error {
    match problem {
        PathProblem::Missing => io::ErrorKind::NotFound.into(),
        PathProblem::NotAFolder => io::ErrorKind::NotADirectory.into(),
        PathProblem::TooLong => io::ErrorKind::InvalidFilename.into(),
        PathProblem::TooManyLinks => io::Error::other("too many levels of symbolic links"),
        PathProblem::NotALink => io::ErrorKind::InvalidInput.into(),
    }
}

fn resolved<T>(path: &Path, open: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let check = || match canonical(path)? == path {
        true => Ok(()),
        false => Err(io::Error::other("a symbolic link is in the way")),
    };
    check()?;
    let opened = open()?;
    check()?;
    Ok(opened)
}

/// A folder, known by its resolved path.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Opens the folder at a resolved path.
    ///
    /// # Errors
    /// The error of the system; also if the path now leads elsewhere.
    pub fn open(path: &Path) -> io::Result<Self> {
        resolved(path, || fs::metadata(path))?;
        Ok(Self(path.to_path_buf()))
    }

    /// Opens a folder in this one, and creates it if it is missing.
    ///
    /// # Errors
    /// The same as of [`Folder::open`].
    pub fn enter(&self, name: &OsStr) -> io::Result<Self> {
        let path = self.0.join(name);
        match fs::create_dir(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => Self::open(&path),
        }
    }

    /// Returns the kind of an entry; `None` if it does not exist.
    ///
    /// # Errors
    /// The error of the system.
    pub fn kind(&self, name: &OsStr) -> io::Result<Option<Kind>> {
        match fs::symlink_metadata(self.0.join(name)) {
            Ok(metadata) => Ok(Some(metadata.file_type().into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// The same as of [`open_file`].
    pub fn open_file(&self, name: &OsStr) -> io::Result<File> {
        open_file(&self.0.join(name))
    }

    /// Opens a regular file for writing, without changing it.
    ///
    /// # Errors
    /// The same as of [`open_file`].
    pub fn open_to_write(&self, name: &OsStr) -> io::Result<File> {
        self.open_file(name)?;
        OpenOptions::new().write(true).open(self.0.join(name))
    }

    /// Creates a file with the default permissions of the system.
    ///
    /// # Errors
    /// The error of the system; [`io::ErrorKind::AlreadyExists`] if the name is taken.
    pub fn create(&self, name: &OsStr, _is_private: bool) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        options.open(self.0.join(name))
    }

    /// Opens a regular file for appending, and creates it if it is missing.
    ///
    /// # Errors
    /// The same as of [`open_file`].
    pub fn append(&self, name: &OsStr) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        match self.kind(name)? {
            None | Some(Kind::File) => options.open(self.0.join(name)),
            Some(_) => Err(io::Error::other("it is not a regular file")),
        }
    }

    /// Renames an entry, and replaces the entry that has the new name.
    ///
    /// # Errors
    /// The error of the system.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    /// Removes an entry that is not a folder.
    ///
    /// # Errors
    /// The error of the system.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    /// Lists the folder, in the order of the system.
    ///
    /// # Errors
    /// The same as of [`entries`].
    pub fn entries(&self) -> io::Result<Vec<io::Result<Entry>>> {
        entries(&self.0)
    }
}
