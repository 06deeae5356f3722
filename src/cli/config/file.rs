//! Finds the configuration file of a run.

use std::path::{Path, PathBuf};

use meshprobe_tree::filesystem::FileSystem;
use meshprobe_tree::source::{CONFIG_NAMES, shown_path};

use super::super::stop::Stop;

/// A configuration file, and which paths it may contain.
pub(super) enum ConfigFile {
    /// A file that the user named; it may contain any path.
    Named(PathBuf),
    /// A file of the tree: its path, its resolved path, and the folder that its paths must not leave.
    Found(PathBuf, PathBuf, PathBuf),
}

impl ConfigFile {
    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Named(file) | Self::Found(file, ..) => file,
        }
    }

    /// Returns the folder of the file.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.path().parent()
    }
}

/// Finds the nearest configuration file in `directory` or above, up to the root of the repository.
pub(super) fn nearest(directory: &Path, files: &FileSystem) -> Result<Option<ConfigFile>, Stop> {
    for above in directory.ancestors() {
        if let Some(file) = config_in(above, directory, files)? {
            return Ok(Some(file));
        }
        if files.exists(&above.join(".git")) {
            break;
        }
    }
    Ok(None)
}

/// Finds the configuration file of a folder.
///
/// # Errors
/// There are two, or a link leads out of the repository.
fn config_in(
    folder: &Path,
    directory: &Path,
    files: &FileSystem,
) -> Result<Option<ConfigFile>, Stop> {
    let mut found = None;
    for name in CONFIG_NAMES {
        let file = folder.join(name);
        if files.symlink_kind(&file).is_err() {
            continue;
        }
        let boundary = files.boundary(folder);
        let real = files.resolved_within(folder, Path::new(name), &boundary);
        let real = real.map_err(|why| {
            let shown = shown_path(&file, directory);
            Stop::usage(format!("cannot read `{shown}`: {why}"))
                .help("use `--config` to read it anyway")
        })?;
        if !files.is_file(&real) {
            continue;
        }
        if let Some(ConfigFile::Found(first, ..)) = found {
            let (first, second) = (shown_path(&first, directory), shown_path(&file, directory));
            return Err(Stop::usage(format!(
                "found two configuration files, `{first}` and `{second}`"
            ))
            .help("delete one of them, or name one with `--config`"));
        }
        found = Some(ConfigFile::Found(file, real, boundary));
    }
    Ok(found)
}
