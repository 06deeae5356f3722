//! Replaces files atomically.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use meshprobe_tree::source::TEMPORARY;
use tempfile::{Builder, NamedTempFile};

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
