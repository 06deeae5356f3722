//! Access relative to open folders; the system refuses links.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::path_problem::PathProblem;
use super::{Entry, Kind};

/// Flags to open a folder only for access to its entries. With `O_PATH`, this requires no permission to list the folder.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
const ENTER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
const ENTER: OFlags = OFlags::DIRECTORY;

/// Flags to open a regular file for reading. If a pipe has replaced the file, opening does not block.
const READ: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

/// Opens the regular file at an absolute path for reading.
///
/// # Errors
/// The error of the system; also if a component is a symbolic link, or if the path is not a regular file.
pub fn open_file(path: &Path) -> io::Result<File> {
    regular(open(path, READ)?)
}

/// Lists the folder at an absolute path, in the order of the system.
///
/// # Errors
/// The same as of [`open_file`]. Entries that cannot be read are errors in the list.
pub fn entries(path: &Path) -> io::Result<Vec<io::Result<Entry>>> {
    list(open(path, OFlags::DIRECTORY)?)
}

/// An open folder. Its entries are accessed relative to it, so it stays the same folder if its path is replaced.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// Opens the folder at an absolute path.
    ///
    /// # Errors
    /// The error of the system; also if a component is a symbolic link.
    pub fn open(path: &Path) -> io::Result<Self> {
        open(path, ENTER).map(Self)
    }

    /// Opens a folder in this one, and creates it if it is missing.
    ///
    /// # Errors
    /// The same as of [`Folder::open`].
    pub fn enter(&self, name: &OsStr) -> io::Result<Self> {
        match rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        self.at(name, ENTER).map(Self)
    }

    /// Returns the kind of an entry; `None` if it does not exist.
    ///
    /// # Errors
    /// The error of the system.
    pub fn kind(&self, name: &OsStr) -> io::Result<Option<Kind>> {
        match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(kind(FileType::from_raw_mode(stat.st_mode)))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// The same as of [`open_file`].
    pub fn open_file(&self, name: &OsStr) -> io::Result<File> {
        regular(self.at(name, READ)?)
    }

    /// Opens a regular file for writing, without changing it.
    ///
    /// # Errors
    /// The same as of [`open_file`].
    pub fn open_to_write(&self, name: &OsStr) -> io::Result<File> {
        regular(self.at(name, OFlags::WRONLY | READ)?)
    }

    /// Creates a file that only its owner can open (`is_private`), or everyone that the umask allows.
    ///
    /// # Errors
    /// The error of the system; [`io::ErrorKind::AlreadyExists`] if the name is taken.
    pub fn create(&self, name: &OsStr, is_private: bool) -> io::Result<File> {
        let mode = Mode::from_raw_mode(if is_private { 0o600 } else { 0o666 });
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let created = rustix::fs::openat(&self.0, name, flags | OFlags::CLOEXEC, mode)?;
        Ok(created.into())
    }

    /// Opens a regular file for appending, and creates it if it is missing.
    ///
    /// # Errors
    /// The same as of [`open_file`].
    pub fn append(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | READ;
        let mode = Mode::from_raw_mode(0o666);
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.0, name, flags, mode);
        regular(opened.map_err(to_io_error)?)
    }

    /// Renames an entry, and replaces the entry that has the new name.
    ///
    /// # Errors
    /// The error of the system.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }

    /// Removes an entry that is not a folder.
    ///
    /// # Errors
    /// The error of the system.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Lists the folder, in the order of the system.
    ///
    /// # Errors
    /// The same as of [`entries`].
    pub fn entries(&self) -> io::Result<Vec<io::Result<Entry>>> {
        // A folder that was opened with `O_PATH` cannot be listed.
        list(self.at(OsStr::new("."), OFlags::DIRECTORY)?)
    }

    fn at(&self, name: &OsStr, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.0, name, flags, Mode::empty()).map_err(to_io_error)
    }
}

/// Opens an absolute path without links.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    let flags = flags | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // The kernel is too old, or a sandbox rejects the call.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => open_by_steps(path, flags),
        opened => opened.map_err(to_io_error),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    open_by_steps(path, flags)
}

/// Opens an absolute path component by component.
pub(super) fn open_by_steps(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let step = |folder: &OwnedFd, name: &OsStr, flags: OFlags| {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(folder, name, flags, Mode::empty()).map_err(to_io_error)
    };
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::RootDir => {}
            Component::Normal(name) => names.push(name),
            _ => return Err(io::Error::other("the path is not resolved")),
        }
    }
    let root = rustix::fs::openat(CWD, "/", ENTER | OFlags::CLOEXEC, Mode::empty())?;
    let Some((last, folders)) = names.split_last() else {
        return step(&root, OsStr::new("."), flags);
    };
    let mut folder = root;
    for name in folders {
        folder = step(&folder, name, ENTER)?;
    }
    step(&folder, last, flags)
}

/// Returns the error of the system for a problem with a path.
pub fn path_error(problem: PathProblem) -> io::Error {
    match problem {
        PathProblem::Missing => Errno::NOENT,
        PathProblem::NotAFolder => Errno::NOTDIR,
        PathProblem::TooLong => Errno::NAMETOOLONG,
        PathProblem::TooManyLinks => Errno::LOOP,
        PathProblem::NotALink => Errno::INVAL,
    }
    .into()
}

fn regular(file: OwnedFd) -> io::Result<File> {
    let file = File::from(file);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

fn list(folder: OwnedFd) -> io::Result<Vec<io::Result<Entry>>> {
    let mut listing = Dir::new(folder)?;
    let mut found = Vec::new();
    while let Some(entry) = listing.read() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                found.push(Err(error.into()));
                continue;
            }
        };
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not return the kind with the name.
            FileType::Unknown => {
                let stat = rustix::fs::statat(listing.fd()?, name, AtFlags::SYMLINK_NOFOLLOW);
                stat.map(|stat| kind(FileType::from_raw_mode(stat.st_mode)))
            }
            known => Ok(kind(known)),
        };
        let name = OsStr::from_bytes(name.to_bytes()).to_os_string();
        found.push(kind.map(|kind| Entry { name, kind }).map_err(Into::into));
    }
    Ok(found)
}

fn kind(kind: FileType) -> Kind {
    match kind {
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        FileType::Fifo => Kind::Pipe,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice | FileType::BlockDevice => Kind::Device,
        FileType::RegularFile | FileType::Unknown => Kind::File,
    }
}

/// Converts an error. The message of the system for a refused link, "too many levels of symbolic links", would be
/// misleading.
fn to_io_error(error: Errno) -> io::Error {
    if error == Errno::LOOP {
        io::Error::other("a symbolic link is in the way")
    } else {
        error.into()
    }
}
