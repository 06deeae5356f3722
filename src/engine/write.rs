//! Writes changed files: all of a file or nothing of it.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use crate::source::reason;

use super::changed::Changed;

/// A file that could not be written, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteFailure {
    /// As shown to the user.
    pub path: Arc<str>,
    /// Why, in words.
    pub reason: String,
}

/// Writes each file to a temporary one beside it and renames it; symbolic links stay links, and
/// permissions are kept. Files without text on disk are left out.
#[must_use]
pub fn write_all(changed: &[Changed]) -> Vec<WriteFailure> {
    changed
        .iter()
        .filter_map(|file| {
            let location = file.location.as_deref()?;
            write_one(location, file).err().map(|reason| WriteFailure {
                path: Arc::clone(&file.path),
                reason,
            })
        })
        .collect()
}

fn write_one(location: &Path, file: &Changed) -> Result<(), String> {
    let target = location.canonicalize().map_err(words)?;
    let metadata = fs::metadata(&target).map_err(words)?;
    if !metadata.is_file() {
        return Err("it is not a regular file".into());
    }
    if metadata.permissions().readonly() {
        return Err("it is read-only".into());
    }
    if fs::read(&target).map_err(words)? != file.before.as_bytes() {
        return Err("it was changed by somebody else in the meantime".into());
    }
    let directory = target.parent().unwrap_or_else(|| Path::new("."));
    replace(
        directory,
        &target,
        file.after.as_bytes(),
        Some(metadata.permissions()),
    )
    .map_err(words)
}

/// Gives `target`, in `directory`, these bytes at once.
pub(super) fn replace(
    directory: &Path,
    target: &Path,
    bytes: &[u8],
    permissions: Option<fs::Permissions>,
) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".meshprobe-");
    #[cfg(unix)]
    if permissions.is_none() {
        use std::os::unix::fs::PermissionsExt as _;
        // A new file is as open as the user lets files be, not for its owner alone.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut beside = builder.tempfile_in(directory)?;
    beside.write_all(bytes)?;
    if let Some(permissions) = permissions {
        beside.as_file().set_permissions(permissions)?;
    }
    // Without this, a crash soon after could leave an empty file under the old name.
    beside.as_file().sync_all()?;
    beside.persist(target).map_err(|error| error.error)?;
    Ok(())
}

/// Writes a report to a file, all of it or nothing, in place of what it holds. What is no regular
/// file, such as a pipe, is written to as it is.
///
/// # Errors
/// Why it cannot be written, in words.
pub fn write_report(path: &Path, text: &str) -> Result<(), String> {
    if path.starts_with("/dev") {
        // Such as /dev/stdout, behind which may lie a file that somebody holds open.
        return fs::write(path, text).map_err(words);
    }
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    match fs::metadata(&target) {
        Ok(metadata) if metadata.is_dir() => Err("it is a folder".into()),
        Ok(metadata) if metadata.permissions().readonly() => Err("it is read-only".into()),
        Ok(metadata) if metadata.is_file() => {
            let permissions = Some(metadata.permissions());
            put(&target, text, permissions)
        }
        Ok(_) => fs::write(&target, text).map_err(words),
        Err(_) => put(&target, text, None),
    }
}

/// Writes a report behind what a file holds.
///
/// # Errors
/// Why it cannot be written, in words.
pub fn append_report(path: &Path, text: &str) -> Result<(), String> {
    if path.is_dir() {
        return Err("it is a folder".into());
    }
    let mut file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(words)?;
    file.write_all(text.as_bytes()).map_err(words)
}

fn put(target: &Path, text: &str, permissions: Option<fs::Permissions>) -> Result<(), String> {
    let parent = target.parent().filter(|parent| *parent != Path::new(""));
    let directory = parent.unwrap_or_else(|| Path::new("."));
    if !directory.is_dir() {
        return Err(format!("there is no folder {}", directory.display()));
    }
    replace(directory, target, text.as_bytes(), permissions).map_err(words)
}

#[expect(clippy::needless_pass_by_value, reason = "used with map_err")]
fn words(error: io::Error) -> String {
    reason(&error)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.yaml");
        fs::write(&path, "a").unwrap();
        assert_eq!(write_all(&[changed(&path, "a", "b")]), []);
        assert_eq!(fs::read_to_string(&path).unwrap(), "b");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_has_changed_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.yaml");
        fs::write(&path, "other").unwrap();
        let failures = write_all(&[changed(&path, "a", "b")]);
        assert!(failures[0].reason.contains("somebody else"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "other");
    }

    #[cfg(unix)]
    #[test]
    fn reports_are_for_everybody_and_keep_links_and_permissions() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let directory = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let plain = directory.path().join("plain");
        fs::write(&plain, "").unwrap();
        let new = directory.path().join("new");
        write_report(&new, "a").unwrap();
        assert_eq!(mode(&new), mode(&plain));
        fs::set_permissions(&new, fs::Permissions::from_mode(0o640)).unwrap();
        let link = directory.path().join("link");
        symlink("new", &link).unwrap();
        write_report(&link, "b").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(
            (fs::read_to_string(&new).unwrap().as_str(), mode(&new)),
            ("b", 0o640)
        );
        fs::set_permissions(&new, fs::Permissions::from_mode(0o444)).unwrap();
        assert_eq!(write_report(&new, "c").unwrap_err(), "it is read-only");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_are_kept_and_read_only_files_left_alone() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.yaml");
        let link = directory.path().join("link.yaml");
        fs::write(&path, "a").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("x.yaml", &link).unwrap();
        assert_eq!(write_all(&[changed(&link, "a", "b")]), []);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
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
}
