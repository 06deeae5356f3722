//! Replaces a file at once: all of its bytes, or none.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::hash::{BuildHasher as _, RandomState};
use std::io;

use crate::filesystem::{Folder, Kind};
use crate::source::TEMPORARY;

use super::attributes;
use super::data::Data;

/// How often a file is written before another run is to blame.
const TRIES: usize = 3;

/// How many names are tried for a temporary file.
const NAMES: usize = 64;

/// What a new file is like.
#[derive(Clone, Copy)]
pub(super) enum Like<'m> {
    /// As open as the user lets files be.
    New,
    /// As a copy of the file with these permissions.
    Copy(&'m Permissions),
    /// As the file that it replaces: its permissions and extended attributes, and its owner where
    /// the system allows that.
    File(&'m File),
}

/// Gives the entry `name` of a folder this content at once. A link of that name is replaced, never
/// followed.
pub(super) fn replace(
    folder: &Folder,
    name: &OsStr,
    data: &Data<'_>,
    like: Like<'_>,
) -> io::Result<()> {
    replace_while(folder, name, data, like, || Ok(true))
}

/// Replaces a file as [`replace`] does, unless `is_wanted` returns false. It is called as late as
/// possible, because writing takes time.
pub(super) fn replace_while(
    folder: &Folder,
    name: &OsStr,
    data: &Data<'_>,
    like: Like<'_>,
    is_wanted: impl Fn() -> io::Result<bool>,
) -> io::Result<()> {
    let mut left = TRIES;
    loop {
        let temporary = Temporary::written(folder, data, like)?;
        if !is_wanted()? {
            return Ok(());
        }
        left -= 1;
        match temporary.rename(name) {
            // Another run may take a file for a leftover before it is locked.
            Err(error) if left > 0 && error.kind() == io::ErrorKind::NotFound => {}
            done => return done,
        }
    }
}

/// A file that is removed unless it is given its final name.
struct Temporary<'f> {
    folder: &'f Folder,
    name: OsString,
    file: File,
    is_renamed: Cell<bool>,
}

impl<'f> Temporary<'f> {
    fn written(folder: &'f Folder, data: &Data<'_>, like: Like<'_>) -> io::Result<Self> {
        // A new file is as open as the user lets files be; others get the permissions of the file
        // that they replace, and until then are for their owner alone.
        let temporary = Self::create(folder, !matches!(like, Like::New))?;
        let file = &temporary.file;
        // Tells other runs that this file is in use. A lock of Windows would keep readers out.
        #[cfg(unix)]
        let _ = file.lock();
        data.write_to(file)?;
        match like {
            Like::New => {}
            Like::Copy(permissions) => file.set_permissions(permissions.clone())?,
            Like::File(original) => attributes::copy(original, file)?,
        }
        // Without this, a crash soon after could leave an empty file under the old name.
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
            // Where it cannot be removed, it stays: nothing reads it.
            let _ = self.folder.remove(&self.name);
        }
    }
}

/// Removes the temporary files of a folder that no run holds any more.
pub(super) fn clean(folder: &Folder) {
    let Ok(entries) = folder.entries() else {
        return;
    };
    for entry in entries.into_iter().filter_map(Result::ok) {
        let is_ours = entry
            .name
            .to_str()
            .is_some_and(|name| name.starts_with(TEMPORARY.0) && name.ends_with(TEMPORARY.1));
        if !is_ours || entry.kind != Kind::File {
            continue;
        }
        let opened = folder.open_to_write(&entry.name);
        if opened.is_ok_and(|file| file.try_lock().is_ok()) {
            // Where it cannot be removed, it stays: nothing reads it.
            let _ = folder.remove(&entry.name);
        }
    }
}
