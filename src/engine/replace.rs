//! Replaces files atomically.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};

use crate::filesystem::{Folder, Kind};
use crate::source::TEMPORARY;

use super::attributes;

/// How often a file is written if another run removes the temporary file.
const TRIES: usize = 3;

/// How many names for a temporary file are tried.
const NAMES: usize = 64;

/// The attributes of a new file.
#[derive(Clone, Copy)]
pub(super) enum FileAttributes<'m> {
    /// The default permissions of the user.
    New,
    /// The permissions and extended attributes of the file that is replaced, and its owner if the system allows it.
    File(&'m File),
}

/// Replaces the entry `name` of a folder atomically. A link of this name is replaced, not followed.
///
/// # Errors
/// The error of the system; the entry is then unchanged.
pub(super) fn replace(
    folder: &Folder,
    name: &OsStr,
    content: &[u8],
    attributes: FileAttributes<'_>,
) -> io::Result<()> {
    replace_while(folder, name, content, attributes, || Ok(true))
}

/// Replaces the entry `name` of a folder atomically, unless `is_wanted` returns false. `is_wanted` is called as late as
/// possible, because writing takes time.
///
/// # Errors
/// The error of the system or of `is_wanted`; the entry is then unchanged.
pub(super) fn replace_while(
    folder: &Folder,
    name: &OsStr,
    content: &[u8],
    attributes: FileAttributes<'_>,
    is_wanted: impl Fn() -> io::Result<bool>,
) -> io::Result<()> {
    let mut tries = TRIES;
    loop {
        let temporary = Temporary::written(folder, content, attributes)?;
        if !is_wanted()? {
            return Ok(());
        }
        tries -= 1;
        match temporary.rename(name) {
            // Another run may remove the file as a leftover before it is locked.
            Err(error) if tries > 0 && error.kind() == io::ErrorKind::NotFound => {}
            done => return done,
        }
    }
}

/// A temporary file, which is removed unless it is renamed to its final name.
struct Temporary<'f> {
    folder: &'f Folder,
    name: OsString,
    file: File,
    is_renamed: Cell<bool>,
}

impl<'f> Temporary<'f> {
    fn written(
        folder: &'f Folder,
        content: &[u8],
        attributes: FileAttributes<'_>,
    ) -> io::Result<Self> {
        // A new file has the default permissions of the user. Other files get the permissions of the file that they
        // replace; until then, only their owner can read them.
        let temporary = Self::create(folder, !matches!(attributes, FileAttributes::New))?;
        let mut file = &temporary.file;
        // The lock shows other runs that this file is in use. On Windows, a lock would block readers.
        #[cfg(unix)]
        let _ = file.lock();
        file.write_all(content)?;
        match attributes {
            FileAttributes::New => {}
            FileAttributes::File(original) => attributes::copy(original, file)?,
        }
        // Without this call, a crash shortly afterwards could leave an empty file under the final name.
        file.sync_all()?;
        Ok(temporary)
    }

    fn create(folder: &'f Folder, is_private: bool) -> io::Result<Self> {
        let (prefix, suffix) = TEMPORARY;
        let random = RandomState::new();
        for number in 0..NAMES {
            let name = format!("{prefix}{:016x}{suffix}", random.hash_one(number));
            let name = OsString::from(name);
            match folder.create(&name, is_private) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(file) => {
                    return Ok(Self {
                        folder,
                        name,
                        file,
                        is_renamed: Cell::new(false),
                    });
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn rename(&self, name: &OsStr) -> io::Result<()> {
        self.folder.rename(&self.name, name)?;
        self.is_renamed.set(true);
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_renamed.get() {
            // A file that cannot be removed stays; nothing reads it.
            let _ = self.folder.remove(&self.name);
        }
    }
}

/// Removes the temporary files of a folder that are not in use by a run.
pub(super) fn clean(folder: &Folder) {
    let Ok(entries) = folder.entries() else {
        return;
    };
    for entry in entries.into_iter().filter_map(Result::ok) {
        let is_temporary = entry
            .name
            .to_str()
            .is_some_and(|name| name.starts_with(TEMPORARY.0) && name.ends_with(TEMPORARY.1));
        if !is_temporary || entry.kind != Kind::File {
            continue;
        }
        let opened = folder.open_to_write(&entry.name);
        if opened.is_ok_and(|file| file.try_lock().is_ok()) {
            // A file that cannot be removed stays; nothing reads it.
            let _ = folder.remove(&entry.name);
        }
    }
}
