//! Writes changed files: all of a file or nothing of it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::filesystem::{Folder, Kind};
use crate::source::{
    Content, SourceFile, SourceSet, canonical, read_open, reason, resolved_as_named,
};

use super::changed::Changed;
use super::data::Data;
use super::replace::{Like, clean, replace, replace_while};

/// A file that could not be written, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteFailure {
    /// As shown to the user.
    pub path: Arc<str>,
    /// Why, in words.
    pub reason: String,
}

/// Writes each file to a temporary one beside it and renames it; permissions, extended attributes and, as far as the system
/// allows, the owner are kept. A file that the user may not write to is refused. Other hard links keep the old text. Files without text on disk are left
/// out. Paths are resolved: a link that was put into one of them since is an error. What a run that
/// was killed has left in these folders is removed.
#[must_use]
pub fn write_all(changed: &[Changed]) -> Vec<WriteFailure> {
    let mut cleaned = BTreeSet::new();
    changed
        .iter()
        .filter_map(|file| {
            let location = file.location.as_deref()?;
            write_one(location, file, &mut cleaned)
                .err()
                .map(|reason| WriteFailure {
                    path: Arc::clone(&file.path),
                    reason,
                })
        })
        .collect()
}

fn write_one(target: &Path, file: &Changed, cleaned: &mut BTreeSet<PathBuf>) -> Result<(), String> {
    let (directory, name) = place(target)?;
    let folder = Folder::open(directory).map_err(words)?;
    let original = folder.open_file(name).map_err(words)?;
    if original.metadata().map_err(words)?.permissions().readonly() {
        return Err("it is read-only".into());
    }
    may_write(&folder, name).map_err(words)?;
    // Elsewhere temporary files are not locked, so one that another run is writing looks left over.
    if cfg!(unix) && cleaned.insert(directory.to_path_buf()) {
        clean(&folder);
    }
    let data = Data::Bytes(file.after.as_bytes());
    let is_wanted = || is_wanted(&folder, name, file);
    replace_while(&folder, name, &data, Like::File(&original), is_wanted).map_err(words)
}

/// Checks that the user may write to a file. A file is replaced by renaming another one, which the system allows for any
/// file of a folder that the user may write to.
fn may_write(folder: &Folder, name: &OsStr) -> io::Result<()> {
    folder.open_to_write(name).map(drop)
}

/// The folder and the name of a file.
fn place(file: &Path) -> Result<(&Path, &OsStr), String> {
    let place = file.parent().zip(file.file_name());
    place.ok_or_else(|| "it is a folder".to_owned())
}

/// Tells whether a file still holds what was read; not so where another run has written the same
/// text.
///
/// # Errors
/// Where it holds anything else.
fn is_wanted(folder: &Folder, name: &OsStr, file: &Changed) -> io::Result<bool> {
    let there = read_open(folder.open_file(name)?)?;
    if there == file.after.as_bytes() {
        Ok(false)
    } else if there == file.before.as_bytes() {
        Ok(true)
    } else {
        Err(io::Error::other(
            "it was changed by somebody else in the meantime",
        ))
    }
}

/// Writes a report to the file at an absolute path, all of it or nothing, in place of what it holds.
/// A link of that name is replaced; a pipe or a device stays, and is written to.
///
/// # Errors
/// Why it cannot be written, in words.
pub fn write_report(path: &Path, text: &str) -> Result<(), String> {
    if is_of_system(path) {
        return fs::write(path, text).map_err(words);
    }
    let (folder, place) = report_folder(path)?;
    let name = place.file_name().unwrap_or_default();
    let data = Data::Bytes(text.as_bytes());
    match folder.kind(name).map_err(words)? {
        Some(Kind::Folder) => Err("it is a folder".into()),
        Some(Kind::File) => {
            let original = folder.open_file(name).map_err(words)?;
            if original.metadata().map_err(words)?.permissions().readonly() {
                return Err("it is read-only".into());
            }
            may_write(&folder, name).map_err(words)?;
            replace(&folder, name, &data, Like::File(&original)).map_err(words)
        }
        None | Some(Kind::Link) => replace(&folder, name, &data, Like::New).map_err(words),
        Some(Kind::Pipe | Kind::Socket | Kind::Device) => fs::write(&place, text).map_err(words),
    }
}

/// Such as `/dev/stdout` and `/proc/self/fd/1`, behind which may be a file that someone holds open. `/dev/shm` holds
/// ordinary files.
fn is_of_system(path: &Path) -> bool {
    (path.starts_with("/dev") && !path.starts_with("/dev/shm")) || path.starts_with("/proc")
}

/// Opens the folder of a report; returns the report's path in it, too.
fn report_folder(path: &Path) -> Result<(Folder, PathBuf), String> {
    let (directory, name) = place(path)?;
    let real = resolved_as_named(directory).map_err(|link| {
        let name = link.file_name().unwrap_or_default().display();
        format!("the link {name} leads out of the repository")
    })?;
    if !real.is_dir() {
        return Err("its folder does not exist".into());
    }
    let folder = Folder::open(&real).map_err(words)?;
    Ok((folder, real.join(name)))
}

/// Tells whether `path` is a manifest that was read: a report must not take its place. A report of
/// an earlier run is none, though it may have been read.
#[must_use]
pub fn is_read(set: &SourceSet, path: &Path) -> bool {
    let Ok(there) = canonical(path) else {
        return false;
    };
    let files = set.files.iter().filter(|file| holds_manifest(file));
    let mut places = files.filter_map(|file| file.location.as_deref());
    places.any(|place| {
        place.file_name() == there.file_name() && canonical(place).is_ok_and(|place| place == there)
    })
}

fn holds_manifest(file: &SourceFile) -> bool {
    file.documents.iter().any(|document| {
        matches!(
            document.content,
            Content::Tree(_)
                | Content::Template
                | Content::Broken {
                    kubernetes: true,
                    ..
                }
        )
    })
}

/// Writes a report behind what the file at an absolute path holds. A link of that name is refused.
///
/// # Errors
/// Why it cannot be written, in words.
pub fn append_report(path: &Path, text: &str) -> Result<(), String> {
    if path.is_dir() {
        return Err("it is a folder".into());
    }
    let mut file = if is_of_system(path) {
        let mut options = fs::OpenOptions::new();
        options.append(true).open(path).map_err(words)?
    } else {
        let (folder, place) = report_folder(path)?;
        let name = place.file_name().unwrap_or_default();
        folder.append(name).map_err(words)?
    };
    file.write_all(text.as_bytes()).map_err(words)
}

#[expect(clippy::needless_pass_by_value, reason = "used with map_err")]
fn words(error: io::Error) -> String {
    reason(&error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that is gone at the end, and its resolved path.
    fn folder() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        (directory, path)
    }

    fn changed(location: &Path, before: &str, after: &str) -> Changed {
        Changed {
            path: Arc::from("x.yaml"),
            location: Some(location.to_path_buf()),
            before: Arc::from(before),
            after: Arc::from(after),
        }
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let (_directory, folder) = folder();
        let path = folder.join("x.yaml");
        fs::write(&path, "a").unwrap();
        assert_eq!(write_all(&[changed(&path, "a", "b")]), []);
        assert_eq!(fs::read_to_string(&path).unwrap(), "b");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_has_changed_is_left_alone() {
        let (_directory, folder) = folder();
        let path = folder.join("x.yaml");
        fs::write(&path, "other").unwrap();
        let failures = write_all(&[changed(&path, "a", "b")]);
        assert!(failures[0].reason.contains("somebody else"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "other");
    }

    #[cfg(unix)]
    #[test]
    fn reports_are_for_everybody_replace_links_and_keep_permissions() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let (_directory, folder) = folder();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let plain = folder.join("plain");
        fs::write(&plain, "").unwrap();
        let new = folder.join("new");
        write_report(&new, "a").unwrap();
        assert_eq!(mode(&new), mode(&plain));
        fs::set_permissions(&new, fs::Permissions::from_mode(0o640)).unwrap();
        let link = folder.join("link");
        symlink("new", &link).unwrap();
        write_report(&link, "b").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_file());
        assert_eq!(fs::read_to_string(&new).unwrap(), "a");
        write_report(&new, "b").unwrap();
        assert_eq!(
            (fs::read_to_string(&new).unwrap().as_str(), mode(&new)),
            ("b", 0o640)
        );
        fs::set_permissions(&new, fs::Permissions::from_mode(0o444)).unwrap();
        assert_eq!(write_report(&new, "c").unwrap_err(), "it is read-only");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_kept_and_links_and_read_only_files_left_alone() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let (_directory, folder) = folder();
        let path = folder.join("x.yaml");
        let link = folder.join("link.yaml");
        fs::write(&path, "a").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("x.yaml", &link).unwrap();
        // A link that was put in the place of what was read.
        let failures = write_all(&[changed(&link, "a", "b")]);
        assert_eq!(failures[0].reason, "a symbolic link is in the way");
        assert_eq!(write_all(&[changed(&path, "a", "b")]), []);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "b");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        assert_eq!(
            write_all(&[changed(&path, "b", "c")])[0].reason,
            "it is read-only"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "b");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn extended_attributes_are_kept() {
        use rustix::fs::{XattrFlags, getxattr, setxattr};
        let (_directory, folder) = folder();
        let path = folder.join("x.yaml");
        fs::write(&path, "a").unwrap();
        let set = setxattr(&path, "user.owner", b"shop", XattrFlags::empty());
        if set == Err(rustix::io::Errno::NOTSUP) {
            // The file system of this machine has none.
            return;
        }
        assert_eq!(write_all(&[changed(&path, "a", "b")]), []);
        let mut value = [0; 16];
        let length = getxattr(&path, "user.owner", &mut value).unwrap();
        assert_eq!(&value[..length], b"shop");
    }
}
