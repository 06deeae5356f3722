//! Writes changed files and reports, each atomically.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use meshprobe_tree::filesystem::{FileSystem, Kind};
use meshprobe_tree::source::{
    Content, SourceFile, SourceSet, TEMPORARY, canonical, io_error_reason, resolved_as_named,
};
use tempfile::{Builder, NamedTempFile};

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
/// Permissions and, as far as the system allows, the owner are kept. A file that the user may not write to is not
/// replaced. Other hard links keep the old text. Files that are not on disk are skipped. A link at the end of a path is an
/// error. Temporary files of killed runs in these folders are removed.
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
    may_replace(target)?;
    // On other systems, temporary files are not locked, so the file of another run looks like a leftover.
    if cfg!(unix)
        && let Some(folder) = target.parent()
        && cleaned.insert(folder.to_path_buf())
    {
        clean(folder);
    }
    replace(target, file.after.as_bytes(), || is_wanted(target, file)).map_err(message)
}

/// Checks that a path is a regular file that the user may write to. A file is replaced by renaming, which the system
/// allows for any file in a folder that the user may write to.
fn may_replace(path: &Path) -> Result<(), String> {
    let metadata = fs::symlink_metadata(path).map_err(message)?;
    if metadata.is_symlink() {
        return Err("a symbolic link is in the way".into());
    }
    // Opening a pipe would wait for a reader.
    if !metadata.is_file() {
        return Err("it is not a regular file".into());
    }
    if metadata.permissions().readonly() {
        return Err("it is read-only".into());
    }
    let opened = fs::OpenOptions::new().write(true).open(path);
    opened.map(drop).map_err(message)
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
fn is_wanted(path: &Path, file: &Changed) -> io::Result<bool> {
    let content = FileSystem::default().read_resolved(path)?;
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
    let place = report_place(path)?;
    match fs::symlink_metadata(&place).map(|metadata| Kind::from(metadata.file_type())) {
        Ok(Kind::Folder) => return Err("it is a folder".into()),
        Ok(Kind::File) => may_replace(&place)?,
        Ok(Kind::Pipe | Kind::Socket | Kind::Device) => {
            return fs::write(&place, text).map_err(message);
        }
        Ok(Kind::Link) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(message(error)),
    }
    replace(&place, text.as_bytes(), || Ok(true)).map_err(message)
}

/// Returns whether a path belongs to the system, such as `/dev/stdout` and `/proc/self/fd/1`, which can lead to a file
/// that is open in another process. `/dev/shm` contains ordinary files.
fn is_of_system(path: &Path) -> bool {
    (path.starts_with("/dev") && !path.starts_with("/dev/shm")) || path.starts_with("/proc")
}

/// Returns the resolved path of a report; a link at its end is not followed.
fn report_place(path: &Path) -> Result<PathBuf, String> {
    let (directory, name) = place(path)?;
    let real = resolved_as_named(directory).map_err(|link| {
        let name = link.file_name().unwrap_or_default().display();
        format!("the link `{name}` leads out of the repository")
    })?;
    if !real.is_dir() {
        return Err("its folder does not exist".into());
    }
    Ok(real.join(name))
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
    let mut options = fs::OpenOptions::new();
    options.append(true);
    let mut file = if is_of_system(path) {
        options.open(path).map_err(message)?
    } else {
        let place = report_place(path)?;
        if place.is_symlink() {
            return Err("a symbolic link is in the way".into());
        }
        options.create(true).open(&place).map_err(message)?
    };
    file.write_all(text.as_bytes()).map_err(message)
}

#[expect(clippy::needless_pass_by_value, reason = "used with map_err")]
fn message(error: io::Error) -> String {
    io_error_reason(&error)
}

/// How often a file is written if another run removes the temporary file before it is locked.
const TRIES: usize = 3;

/// Replaces the entry at a path atomically, unless `is_wanted` returns false. A link at the path is replaced, not
/// followed. A new file has the default permissions of the user; another one keeps its permissions, and its owner if the
/// system allows it. `is_wanted` is called as late as possible, because writing takes time.
///
/// # Errors
/// The error of the system or of `is_wanted`; the entry is then unchanged.
pub(super) fn replace(
    path: &Path,
    content: &[u8],
    is_wanted: impl Fn() -> io::Result<bool>,
) -> io::Result<()> {
    let mut tries = TRIES;
    loop {
        let temporary = written(path, content)?;
        if !is_wanted()? {
            return Ok(());
        }
        tries -= 1;
        match temporary.persist(path) {
            Err(error) if tries > 0 && error.error.kind() == io::ErrorKind::NotFound => {}
            done => return done.map(drop).map_err(|error| error.error),
        }
    }
}

/// Writes a temporary file next to a file. It is removed unless it is renamed.
fn written(path: &Path, content: &[u8]) -> io::Result<NamedTempFile> {
    let original = fs::symlink_metadata(path).ok();
    let original = original.filter(Metadata::is_file);
    let mut builder = Builder::new();
    builder.prefix(TEMPORARY.0).suffix(TEMPORARY.1);
    #[cfg(unix)]
    if original.is_none() {
        use std::os::unix::fs::PermissionsExt as _;
        // The umask of the user applies to them.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let temporary = builder.tempfile_in(path.parent().unwrap_or(Path::new(".")))?;
    let mut file = temporary.as_file();
    // The lock shows other runs that this file is in use. On Windows, a lock would block readers.
    #[cfg(unix)]
    let _ = file.lock();
    file.write_all(content)?;
    if let Some(original) = original {
        copy_owner(file, &original);
        // A change of the owner may clear permission bits, so permissions are set after it.
        file.set_permissions(original.permissions())?;
    }
    // Without this call, a crash shortly afterwards could leave an empty file under the final name.
    file.sync_all()?;
    Ok(temporary)
}

/// Copies the owner and group of another file, as far as the system allows: only root may change the owner.
#[cfg(unix)]
fn copy_owner(file: &File, original: &Metadata) {
    use std::os::unix::fs::{MetadataExt as _, fchown};

    let (user, group) = (Some(original.uid()), Some(original.gid()));
    if fchown(file, user, group).is_err() {
        // The file then belongs to the user, as with any editor that writes a new file.
        let _ = fchown(file, None, group);
    }
}

#[cfg(not(unix))]
fn copy_owner(_: &File, _: &Metadata) {}

/// Removes the temporary files of a folder that are not in use by a run.
pub(super) fn clean(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_temporary = name
            .to_str()
            .is_some_and(|name| name.starts_with(TEMPORARY.0) && name.ends_with(TEMPORARY.1));
        if !is_temporary || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let opened = OpenOptions::new().write(true).open(entry.path());
        if opened.is_ok_and(|file| file.try_lock().is_ok()) {
            // A file that cannot be removed stays; nothing reads it.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A file whose text changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The path as shown to the user.
    pub path: Arc<str>,
    /// The resolved path; `None` for standard input.
    pub location: Option<PathBuf>,
    /// The text that was read.
    pub before: Arc<str>,
    /// The new text.
    pub after: Arc<str>,
}

impl Changed {
    /// Lists the files whose text differs between two sets of the same files.
    #[must_use]
    pub fn between(before: &SourceSet, after: &SourceSet) -> Vec<Self> {
        before
            .files
            .iter()
            .zip(&after.files)
            .filter(|(old, new)| old.text != new.text)
            .map(|(old, new)| Self {
                path: Arc::clone(&old.path),
                location: old.resolved_location().map(Path::to_path_buf),
                before: Arc::clone(&old.text),
                after: Arc::clone(&new.text),
            })
            .collect()
    }
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
}
