//! Writes changed files: all of a file or nothing of it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::NamedTempFile;

use crate::source::{Content, SourceFile, SourceSet, TEMPORARY, canonical, read_file, reason};

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
/// permissions and owners are kept. Other hard links keep the old text. Files without text on disk
/// are left out. What a run that was killed has left in these folders is removed.
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

fn write_one(
    location: &Path,
    file: &Changed,
    cleaned: &mut BTreeSet<PathBuf>,
) -> Result<(), String> {
    let target = canonical(location).map_err(words)?;
    let metadata = fs::metadata(&target).map_err(words)?;
    if !metadata.is_file() {
        return Err("it is not a regular file".into());
    }
    if metadata.permissions().readonly() {
        return Err("it is read-only".into());
    }
    let directory = target.parent().unwrap_or_else(|| Path::new("."));
    // Elsewhere temporary files are not locked, so one that another run is writing looks left over.
    if cfg!(unix) && cleaned.insert(directory.to_path_buf()) {
        clean(directory);
    }
    let bytes = file.after.as_bytes();
    replace_while(directory, &target, bytes, Like::File(&metadata), || {
        is_wanted(&target, file)
    })
    .map_err(words)
}

/// Tells whether a file still holds what was read; not so where another run has written the same
/// text.
///
/// # Errors
/// Where it holds anything else.
fn is_wanted(target: &Path, file: &Changed) -> io::Result<bool> {
    let there = read_file(target)?;
    if there == file.after.as_bytes() {
        Ok(false)
    } else if there == file.before.as_bytes() {
        Ok(true)
    } else {
        let said = "it was changed by somebody else in the meantime";
        Err(io::Error::other(said))
    }
}

/// How often a file is written before another run is to blame.
const TRIES: usize = 3;

/// What a new file is like.
#[derive(Clone, Copy)]
pub(super) enum Like<'m> {
    /// As open as the user lets files be.
    New,
    /// As a copy of the file with these permissions.
    Copy(&'m fs::Permissions),
    /// As the file whose place it takes: its permissions, and its owner where we may give it away.
    File(&'m fs::Metadata),
}

/// Gives `target`, in `directory`, these bytes at once.
pub(super) fn replace(
    directory: &Path,
    target: &Path,
    bytes: &[u8],
    like: Like<'_>,
) -> io::Result<()> {
    replace_while(directory, target, bytes, like, || Ok(true))
}

/// As [`replace`], unless `is_wanted` says no; it is asked as late as can be, as writing takes time.
fn replace_while(
    directory: &Path,
    target: &Path,
    bytes: &[u8],
    like: Like<'_>,
    is_wanted: impl Fn() -> io::Result<bool>,
) -> io::Result<()> {
    let mut left = TRIES;
    loop {
        let beside = beside(directory, bytes, like)?;
        if !is_wanted()? {
            return Ok(());
        }
        left -= 1;
        match beside.persist(target) {
            // Another run may take a file for left over before it is locked.
            Err(failed) if left > 0 && failed.error.kind() == io::ErrorKind::NotFound => {}
            done => return done.map(drop).map_err(|failed| failed.error),
        }
    }
}

/// Writes these bytes to a temporary file, which is gone unless it is given a name.
fn beside(directory: &Path, bytes: &[u8], like: Like<'_>) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY.0).suffix(TEMPORARY.1);
    #[cfg(unix)]
    if matches!(like, Like::New) {
        use std::os::unix::fs::PermissionsExt as _;
        // A new file is as open as the user lets files be, not for its owner alone.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut beside = builder.tempfile_in(directory)?;
    // Tells other runs that this file is in use. A lock of Windows would keep readers out.
    #[cfg(unix)]
    let _ = beside.as_file().lock();
    beside.write_all(bytes)?;
    match like {
        Like::New => {}
        Like::Copy(permissions) => beside.as_file().set_permissions(permissions.clone())?,
        Like::File(metadata) => {
            give(beside.as_file(), metadata)?;
            // A change of owner may take bits away, so they come last.
            beside.as_file().set_permissions(metadata.permissions())?;
        }
    }
    // Without this, a crash soon after could leave an empty file under the old name.
    beside.as_file().sync_all()?;
    Ok(beside)
}

/// Gives a file the owner and group of another, as far as we may: only root gives files away.
#[cfg(unix)]
fn give(file: &fs::File, like: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let own = file.metadata()?;
    let (user, group) = (Some(like.uid()), Some(like.gid()));
    if (own.uid(), own.gid()) != (like.uid(), like.gid())
        && fchown(file, user, group).is_err()
        && own.gid() != like.gid()
    {
        // Then it is ours, as with any editor that writes a new file.
        let _ = fchown(file, None, group);
    }
    Ok(())
}

#[cfg(not(unix))]
#[expect(
    clippy::unnecessary_wraps,
    reason = "there is something to give on Unix"
)]
fn give(_: &fs::File, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// Removes the temporary files of a folder that no run holds any more.
fn clean(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let is_ours = name
            .to_str()
            .is_some_and(|name| name.starts_with(TEMPORARY.0) && name.ends_with(TEMPORARY.1));
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let path = entry.path();
        let opened = fs::OpenOptions::new().write(true).open(&path);
        if opened.is_ok_and(|file| file.try_lock().is_ok()) {
            // Where it cannot be removed, it stays: nothing reads it.
            let _ = fs::remove_file(path);
        }
    }
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
    let target = canonical(path).unwrap_or_else(|_| path.to_path_buf());
    match fs::metadata(&target) {
        Ok(metadata) if metadata.is_dir() => Err("it is a folder".into()),
        Ok(metadata) if metadata.permissions().readonly() => Err("it is read-only".into()),
        Ok(metadata) if metadata.is_file() => put(&target, text, Like::File(&metadata)),
        Ok(_) => fs::write(&target, text).map_err(words),
        Err(_) => put(&target, text, Like::New),
    }
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

fn put(target: &Path, text: &str, like: Like<'_>) -> Result<(), String> {
    let parent = target.parent().filter(|parent| *parent != Path::new(""));
    let directory = parent.unwrap_or_else(|| Path::new("."));
    if !directory.is_dir() {
        return Err("its folder does not exist".into());
    }
    replace(directory, target, text.as_bytes(), like).map_err(words)
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
