//! Access relative to open folders, with links refused by the system.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{Entry, Kind};

/// Opens a folder only to name entries of it. Where the system has `O_PATH`, that needs no
/// permission to list the folder.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
const ENTER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
const ENTER: OFlags = OFlags::DIRECTORY;

/// Opens a regular file for reading. A pipe that was put in its place does not block.
const READ: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

/// Opens the regular file at an absolute path for reading.
///
/// # Errors
/// What the system reports; an error too where any component is a symbolic link, or where there is
/// no regular file.
pub fn open_file(path: &Path) -> io::Result<File> {
    regular(open(path, READ)?)
}

/// Lists the folder at an absolute path, in the order of the system.
///
/// # Errors
/// As for [`open_file`]; inside, entries that cannot be read.
pub fn entries(path: &Path) -> io::Result<Vec<io::Result<Entry>>> {
    list(open(path, OFlags::DIRECTORY)?)
}

/// An open folder: its entries are named relative to it, so it stays the same folder whatever
/// becomes of the path that led to it.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// Opens the folder at an absolute path.
    ///
    /// # Errors
    /// What the system reports; an error too where any component is a symbolic link.
    pub fn open(path: &Path) -> io::Result<Self> {
        open(path, ENTER).map(Self)
    }

    /// Opens a folder in this one, and makes it where it is missing.
    ///
    /// # Errors
    /// As for [`Folder::open`].
    pub fn enter(&self, name: &OsStr) -> io::Result<Self> {
        match rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        self.at(name, ENTER).map(Self)
    }

    /// Returns what an entry is; `None` where there is none.
    ///
    /// # Errors
    /// What the system reports.
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
    /// As for [`open_file`].
    pub fn open_file(&self, name: &OsStr) -> io::Result<File> {
        regular(self.at(name, READ)?)
    }

    /// Opens a regular file for writing, without changing it.
    ///
    /// # Errors
    /// As for [`open_file`].
    pub fn open_to_write(&self, name: &OsStr) -> io::Result<File> {
        regular(self.at(name, OFlags::WRONLY | READ)?)
    }

    /// Creates a file that its owner alone can open, or everyone that the umask allows.
    ///
    /// # Errors
    /// What the system reports; [`io::ErrorKind::AlreadyExists`] where the name is taken.
    pub fn create(&self, name: &OsStr, is_private: bool) -> io::Result<File> {
        let mode = Mode::from_raw_mode(if is_private { 0o600 } else { 0o666 });
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let created = rustix::fs::openat(&self.0, name, flags | OFlags::CLOEXEC, mode)?;
        Ok(created.into())
    }

    /// Opens a regular file to write behind what it has, and makes it where it is missing.
    ///
    /// # Errors
    /// As for [`open_file`].
    pub fn append(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | READ;
        let mode = Mode::from_raw_mode(0o666);
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.0, name, flags, mode);
        regular(opened.map_err(in_words)?)
    }

    /// Gives an entry another name, in place of what has it.
    ///
    /// # Errors
    /// What the system reports.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }

    /// Removes an entry that is not a folder.
    ///
    /// # Errors
    /// What the system reports.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Makes a symbolic link to `target`.
    ///
    /// # Errors
    /// What the system reports.
    pub fn link(&self, target: &Path, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.0, name)?)
    }

    /// Returns where a symbolic link leads.
    ///
    /// # Errors
    /// What the system reports.
    pub fn read_link(&self, name: &OsStr) -> io::Result<PathBuf> {
        let target = rustix::fs::readlinkat(&self.0, name, Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }

    /// Lists the folder, in the order of the system.
    ///
    /// # Errors
    /// As for [`entries`].
    pub fn entries(&self) -> io::Result<Vec<io::Result<Entry>>> {
        // What was opened only to name entries cannot be listed.
        list(self.at(OsStr::new("."), OFlags::DIRECTORY)?)
    }

    fn at(&self, name: &OsStr, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.0, name, flags, Mode::empty()).map_err(in_words)
    }
}

/// Opens an absolute path in which nothing is a link.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    let flags = flags | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // An old kernel, or a sandbox that does not know the call.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => open_by_steps(path, flags),
        opened => opened.map_err(in_words),
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
        rustix::fs::openat(folder, name, flags, Mode::empty()).map_err(in_words)
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
            // Some file systems do not tell it with the name.
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

/// The system's words for a link are "too many levels of symbolic links", of which there is one.
fn in_words(error: Errno) -> io::Error {
    if error == Errno::LOOP {
        io::Error::other("a symbolic link is in the way")
    } else {
        error.into()
    }
}
