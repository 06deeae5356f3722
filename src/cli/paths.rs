//! Resolves the paths of options.

use std::path::{Path, PathBuf};

use meshprobe_tree::source::{resolved_as_named, shown_path};

use super::stop::Stop;

/// Resolves a path that the user passes to an option.
///
/// # Errors
/// A link of the repository leads out of the repository.
pub(super) fn resolve_named_path(
    option: &str,
    path: &Path,
    directory: &Path,
) -> Result<PathBuf, Stop> {
    resolved_as_named(&directory.join(path)).map_err(|link| {
        let (path, link) = (path.display(), shown_path(&link, directory));
        Stop::usage(format!(
            "cannot read `{path}` for `{option}`: the link `{link}` leads out of the repository"
        ))
    })
}
