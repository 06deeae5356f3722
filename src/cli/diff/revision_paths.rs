//! Names of revisions that are given as paths, as `git diff` accepts them.

use std::path::{Path, PathBuf};

use meshprobe_tree::git::Repository;

use super::super::stop::Stop;

/// Rejects a path that does not exist.
///
/// # Errors
/// There is such a path. The help names the options if it is a revision.
pub(super) fn reject_missing_paths(paths: &[PathBuf], directory: &Path) -> Result<(), Stop> {
    let is_missing = |path: &&PathBuf| path.as_os_str() != "-" && !directory.join(path).exists();
    let Some(path) = paths.iter().find(is_missing) else {
        return Ok(());
    };
    if let Ok(repository) = Repository::discover(directory) {
        reject_revisions_as_paths(&repository, paths, directory)?;
    }
    let shown = path.display();
    Err(
        Stop::usage(format!("cannot read `{shown}`: no such file or directory"))
            .help("`meshprobe diff BEFORE AFTER` compares two folders or files with each other"),
    )
}

/// Rejects the first path that does not exist and is the name of a revision, or a range such as `main..HEAD`.
///
/// # Errors
/// There is such a path.
pub(super) fn reject_revisions_as_paths(
    repository: &Repository,
    paths: &[PathBuf],
    directory: &Path,
) -> Result<(), Stop> {
    let is_revision = |name: &str| repository.resolve(name).is_ok();
    let revisions_of = |path: &PathBuf| -> Option<Vec<String>> {
        let text = path.to_str()?;
        if directory.join(path).exists() {
            return None;
        }
        let names: Vec<String> = text
            .split("..")
            .map(|name| name.trim_start_matches('.'))
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        let are_revisions =
            matches!(names.len(), 1 | 2) && names.iter().all(|name| is_revision(name));
        are_revisions.then_some(names)
    };
    let found: Vec<String> = paths.iter().filter_map(revisions_of).flatten().collect();
    let (named, options) = match found.as_slice() {
        [] => return Ok(()),
        [since] => (
            format!("`{since}` is a revision"),
            format!("--since {since}"),
        ),
        [since, until, ..] => (
            format!("`{since}` and `{until}` are revisions"),
            format!("--since {since} --until {until}"),
        ),
    };
    Err(Stop::usage(format!("{named}, and `diff` expects paths"))
        .help(format!("compare revisions with `meshprobe diff {options}`")))
}
