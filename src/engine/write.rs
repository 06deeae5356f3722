//! Writes changed files and reports, each atomically.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::filesystem::{Folder, Kind};
use crate::source::{
    Content, SourceFile, SourceSet, canonical, io_error_reason, read_open, resolved_as_named,
};

use super::changed::Changed;
use super::replace::{FileAttributes, clean, replace, replace_while};

/// A file that could not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteFailure {
    /// The path as shown to the user.
    pub path: Arc<str>,
    /// The reason.
    pub reason: String,
}

/// Writes each file to a temporary file in the same folder, and renames that file. Returns the files that could not be
/// written.
///
/// Permissions, extended attributes and, as far as the system allows, the owner are kept. A file that the user may not
/// write to is not replaced. Other hard links keep the old text. Files that are not on disk are skipped. Paths are
/// resolved, so a link that someone has added to one of them is an error. Temporary files of killed runs in these folders
/// are removed.
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
    let folder = Folder::open(directory).map_err(message)?;
    let original = folder.open_file(name).map_err(message)?;
    if original
        .metadata()
        .map_err(message)?
        .permissions()
        .readonly()
    {
        return Err("it is read-only".into());
    }
    may_write(&folder, name).map_err(message)?;
    // On other systems, temporary files are not locked, so the file of another run looks like a leftover.
    if cfg!(unix) && cleaned.insert(directory.to_path_buf()) {
        clean(&folder);
    }
    let is_wanted = || is_wanted(&folder, name, file);
    replace_while(
        &folder,
        name,
        file.after.as_bytes(),
        FileAttributes::File(&original),
        is_wanted,
    )
    .map_err(message)
}

/// Checks that the user may write to a file. A file is replaced by renaming, which the system allows for any file in a
/// folder that the user may write to.
fn may_write(folder: &Folder, name: &OsStr) -> io::Result<()> {
    folder.open_to_write(name).map(drop)
}

/// Returns the folder and the name of a file.
fn place(file: &Path) -> Result<(&Path, &OsStr), String> {
    file.parent()
        .zip(file.file_name())
        .ok_or_else(|| "it is a folder".to_owned())
}

/// Returns whether a file must still be written: true if it still contains the text that was read, and false if another
/// run has already written the new text.
///
/// # Errors
/// The file contains another text.
fn is_wanted(folder: &Folder, name: &OsStr, file: &Changed) -> io::Result<bool> {
    let content = read_open(folder.open_file(name)?)?;
    if content == file.after.as_bytes() {
        Ok(false)
    } else if content == file.before.as_bytes() {
        Ok(true)
    } else {
        Err(io::Error::other(
            "another program has changed it in the meantime",
        ))
    }
}

/// Writes a report to the file at an absolute path, and replaces its content atomically. A link of this name is replaced;
/// a pipe or a device is kept, and written to.
///
/// # Errors
/// The reason why the report cannot be written.
pub fn write_report(path: &Path, text: &str) -> Result<(), String> {
    if is_of_system(path) {
        return fs::write(path, text).map_err(message);
    }
    let (folder, place) = report_folder(path)?;
    let name = place.file_name().unwrap_or_default();
    let content = text.as_bytes();
    match folder.kind(name).map_err(message)? {
        Some(Kind::Folder) => Err("it is a folder".into()),
        Some(Kind::File) => {
            let original = folder.open_file(name).map_err(message)?;
            if original
                .metadata()
                .map_err(message)?
                .permissions()
                .readonly()
            {
                return Err("it is read-only".into());
            }
            may_write(&folder, name).map_err(message)?;
            replace(&folder, name, content, FileAttributes::File(&original)).map_err(message)
        }
        None | Some(Kind::Link) => {
            replace(&folder, name, content, FileAttributes::New).map_err(message)
        }
        Some(Kind::Pipe | Kind::Socket | Kind::Device) => fs::write(&place, text).map_err(message),
    }
}

/// Returns whether a path belongs to the system, such as `/dev/stdout` and `/proc/self/fd/1`, which can lead to a file
/// that is open in another process. `/dev/shm` contains ordinary files.
fn is_of_system(path: &Path) -> bool {
    (path.starts_with("/dev") && !path.starts_with("/dev/shm")) || path.starts_with("/proc")
}

/// Opens the folder of a report. Also returns the resolved path of the report.
fn report_folder(path: &Path) -> Result<(Folder, PathBuf), String> {
    let (directory, name) = place(path)?;
    let real = resolved_as_named(directory).map_err(|link| {
        let name = link.file_name().unwrap_or_default().display();
        format!("the link `{name}` leads out of the repository")
    })?;
    if !real.is_dir() {
        return Err("its folder does not exist".into());
    }
    let folder = Folder::open(&real).map_err(message)?;
    Ok((folder, real.join(name)))
}

/// Returns whether `path` is a manifest that was read, which a report must not overwrite. A report of an earlier run may
/// have been read, but is not a manifest.
#[must_use]
pub fn is_read(set: &SourceSet, path: &Path) -> bool {
    let Ok(target) = canonical(path) else {
        return false;
    };
    set.files
        .iter()
        .filter(|file| contains_manifest(file))
        .filter_map(|file| file.location.as_deref())
        .any(|path| {
            path.file_name() == target.file_name()
                && canonical(path).is_ok_and(|path| path == target)
        })
}

fn contains_manifest(file: &SourceFile) -> bool {
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

/// Appends a report to the file at an absolute path. A link of this name is refused.
///
/// # Errors
/// The reason why the report cannot be written.
pub fn append_report(path: &Path, text: &str) -> Result<(), String> {
    if path.is_dir() {
        return Err("it is a folder".into());
    }
    let mut file = if is_of_system(path) {
        let mut options = fs::OpenOptions::new();
        options.append(true).open(path).map_err(message)?
    } else {
        let (folder, place) = report_folder(path)?;
        let name = place.file_name().unwrap_or_default();
        folder.append(name).map_err(message)?
    };
    file.write_all(text.as_bytes()).map_err(message)
}

#[expect(clippy::needless_pass_by_value, reason = "used with map_err")]
fn message(error: io::Error) -> String {
    io_error_reason(&error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a temporary folder. Also returns its resolved path.
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
    fn a_file_is_replaced_and_no_temporary_file_is_left() {
        let (_directory, folder) = folder();
        let path = folder.join("x.yaml");
        fs::write(&path, "a").unwrap();
        assert_eq!(write_all(&[changed(&path, "a", "b")]), []);
        assert_eq!(fs::read_to_string(&path).unwrap(), "b");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_has_changed_since_it_was_read_is_not_written() {
        let (_directory, folder) = folder();
        let path = folder.join("x.yaml");
        fs::write(&path, "other").unwrap();
        let failures = write_all(&[changed(&path, "a", "b")]);
        assert!(failures[0].reason.contains("another program"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "other");
    }

    #[cfg(unix)]
    #[test]
    fn reports_have_default_permissions_replace_links_and_keep_permissions() {
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
    fn permissions_are_kept_and_links_and_read_only_files_are_not_written() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let (_directory, folder) = folder();
        let path = folder.join("x.yaml");
        let link = folder.join("link.yaml");
        fs::write(&path, "a").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("x.yaml", &link).unwrap();
        // A link has replaced the file that was read.
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
