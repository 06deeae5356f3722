//! The files on disk.
//!
//! Access to files that are only read.
//!
//! The canonical form of a path that exists on disk.

use std::fmt::Debug;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::kind::PathProblem;
use super::{Entry, Kind, OpenFile};

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

    fn open_listed(&self, path: &Path) -> io::Result<OpenFile> {
        self.open_following(path)
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

/// Files that can be read, and never written.
///
/// The errors are those of the system for the same operation on disk, so that a state of a repository cannot be
/// distinguished from a checkout of it.
pub trait ReadFiles: Debug + Send + Sync {
    /// Resolves links and `..`, and returns an absolute path.
    ///
    /// # Errors
    /// The error of the system, such as [`io::ErrorKind::NotFound`].
    fn canonical(&self, path: &Path) -> io::Result<PathBuf>;

    /// Returns the kind of the entry at a path, after following links.
    ///
    /// # Errors
    /// The error of the system.
    fn kind(&self, path: &Path) -> io::Result<Kind>;

    /// Returns the kind of the entry at a path. Does not follow a link at its end.
    ///
    /// # Errors
    /// The error of the system.
    fn symlink_kind(&self, path: &Path) -> io::Result<Kind>;

    /// Returns the length of the regular file at a path in bytes, after following links; `None` if it is not a regular
    /// file.
    ///
    /// # Errors
    /// The error of the system.
    fn file_length(&self, path: &Path) -> io::Result<Option<u64>>;

    /// Returns the target of the link at a path.
    ///
    /// # Errors
    /// The error of the system; also if it is not a link.
    fn read_link(&self, path: &Path) -> io::Result<PathBuf>;

    /// Lists the folder at a resolved path, in any order.
    ///
    /// # Errors
    /// The error of the system. Entries that cannot be read are errors in the list.
    fn entries(&self, path: &Path) -> io::Result<Vec<io::Result<Entry>>>;

    /// Opens the regular file at a resolved path for reading.
    ///
    /// # Errors
    /// The error of the system; also if the path is a link, or is not a regular file.
    fn open_file(&self, path: &Path) -> io::Result<OpenFile>;

    /// Opens the file at a resolved path for reading, which a listing contains as a regular file.
    ///
    /// # Errors
    /// The error of the system.
    fn open_listed(&self, path: &Path) -> io::Result<OpenFile> {
        self.open_file(path)
    }

    /// Returns whether the entry at a resolved path comes from git, which tracks it.
    fn is_tracked(&self, _path: &Path) -> bool {
        false
    }

    /// Opens the file at a path for reading, after following links. On disk, it may be a pipe or a device.
    ///
    /// # Errors
    /// The error of the system.
    fn open_following(&self, path: &Path) -> io::Result<OpenFile>;

    /// Returns whether a path leads to a folder.
    fn is_dir(&self, path: &Path) -> bool {
        self.kind(path).is_ok_and(|kind| kind == Kind::Folder)
    }

    /// Returns whether a path leads to a regular file.
    fn is_file(&self, path: &Path) -> bool {
        self.kind(path).is_ok_and(|kind| kind == Kind::File)
    }

    /// Returns whether a path is a symbolic link.
    fn is_symlink(&self, path: &Path) -> bool {
        self.symlink_kind(path).is_ok_and(|kind| kind == Kind::Link)
    }

    /// Returns whether a path leads to an entry.
    fn exists(&self, path: &Path) -> bool {
        self.kind(path).is_ok()
    }
}

/// Resolves links and `..`, and returns an absolute path.
///
/// Windows resolves to the verbatim form (`\\?\C:\x`), which differs from the form that users and the system write. If
/// the usual form means the same path, this function returns it, so that paths can be compared and shown.
///
/// # Errors
/// The same as of [`Path::canonicalize`].
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().map(usual_form)
}

#[cfg(not(windows))]
fn usual_form(path: PathBuf) -> PathBuf {
    path
}

#[cfg(windows)]
fn usual_form(path: PathBuf) -> PathBuf {
    use std::path::{Component, Prefix};

    let mut parts = path.components();
    let Some(Component::Prefix(prefix)) = parts.next() else {
        return path;
    };
    let mut usual = match prefix.kind() {
        Prefix::VerbatimDisk(letter) => PathBuf::from(format!("{}:\\", char::from(letter))),
        Prefix::VerbatimUNC(server, share) => {
            let mut start = std::ffi::OsString::from(r"\\");
            start.push(server);
            start.push(r"\");
            start.push(share);
            start.push(r"\");
            PathBuf::from(start)
        }
        _ => return path,
    };
    for part in parts {
        match part {
            Component::RootDir => {}
            Component::Normal(name) if keeps_its_meaning(name) => usual.push(name),
            _ => return path,
        }
    }
    usual
}

/// Returns whether a name has the same meaning outside of a verbatim path, where Windows removes dots and spaces at its
/// end, and reserves the names of devices.
#[cfg(windows)]
fn keeps_its_meaning(name: &std::ffi::OsStr) -> bool {
    const DEVICES: [&str; 4] = ["CON", "PRN", "AUX", "NUL"];
    let Some(name) = name.to_str() else {
        return false;
    };
    let stem = name.split('.').next().unwrap_or(name).trim_end();
    let stem = stem.to_ascii_uppercase();
    let numbered = ["COM", "LPT"].iter().any(|device| {
        let number = stem.strip_prefix(device);
        number.is_some_and(|number| number.chars().count() == 1)
    });
    !name.ends_with(['.', ' ']) && !DEVICES.contains(&stem.as_str()) && !numbered
}

#[cfg(all(test, windows))]
mod tests {
    use super::usual_form;
    use std::path::{Path, PathBuf};

    #[test]
    fn verbatim_paths_are_returned_in_the_usual_form() {
        for (verbatim, usual) in [
            (r"\\?\C:\repo\a.yaml", r"C:\repo\a.yaml"),
            (r"\\?\UNC\server\share\a.yaml", r"\\server\share\a.yaml"),
            (r"\\?\C:\repo\nul", r"\\?\C:\repo\nul"),
            (r"\\?\C:\repo\a.", r"\\?\C:\repo\a."),
            (r"C:\repo", r"C:\repo"),
        ] {
            assert_eq!(usual_form(PathBuf::from(verbatim)), Path::new(usual));
        }
    }
}
