//! The paths that differ between two states of a repository, and files that git converts with a program.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use hashbrown::HashSet;

use super::command::{Git, path_of, text};
use super::error::GitError;
use super::repository::{Commit, Repository};
use super::snapshot::hidden_changes;
use super::tree::{ANNOUNCED_IS_ABSENT, GITLINK, OPTIONS, parse_differences};

/// The state with which a commit is compared.
#[derive(Clone, Debug)]
pub enum Side {
    /// The files of the working tree.
    WorkingTree,
    /// The staged files.
    Index,
    /// The files of another commit.
    Commit(Commit),
}

/// Paths that may differ between two states of a repository. Paths outside of it are equal.
#[derive(Clone, Debug, Default)]
pub struct ChangedPaths {
    files: HashSet<OsString>,
    /// Folders in which every path may differ, such as submodules.
    folders: Vec<PathBuf>,
    /// Files of the working tree that count as changed because git would convert them with a program, which is not run.
    filtered: Vec<PathBuf>,
}

impl ChangedPaths {
    /// Returns the paths of some files, and no others.
    pub fn of_files(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let paths = paths.into_iter();
        Self {
            files: paths.map(PathBuf::into_os_string).collect(),
            folders: Vec::new(),
            filtered: Vec::new(),
        }
    }

    /// Returns the files of the working tree, relative to the root, that count as changed because git would convert them
    /// with a program.
    #[must_use]
    pub fn filtered(&self) -> &[PathBuf] {
        &self.filtered
    }

    /// Returns whether the file at a resolved path may differ.
    #[must_use]
    pub fn contains(&self, path: &Path) -> bool {
        self.files.contains(path.as_os_str())
            || self.folders.iter().any(|folder| path.starts_with(folder))
    }

    /// Returns the paths that may differ, sorted; folders in which every path may differ are listed as one path.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        let files = self.files.iter().map(PathBuf::from);
        let mut paths: Vec<PathBuf> = files.chain(self.folders.iter().cloned()).collect();
        paths.sort();
        paths
    }
}

impl Repository {
    /// Returns the paths that may differ between a commit and another state. All other paths are equal.
    ///
    /// # Errors
    /// Git cannot compare the states.
    pub fn changed(&self, commit: &Commit, side: &Side) -> Result<ChangedPaths, GitError> {
        changed(self, commit, side)
    }
}

fn changed(
    repository: &Repository,
    commit: &Commit,
    side: &Side,
) -> Result<ChangedPaths, GitError> {
    let mut found = ChangedPaths::default();
    let Some((git, ends)) = comparison(repository, commit, side)? else {
        found.folders.push(repository.root.clone());
        return Ok(found);
    };
    let (command, ends) = ends.split_first().unwrap_or((&"diff-tree", &[]));
    let arguments: Vec<&str> = std::iter::once(*command)
        .chain(OPTIONS)
        .chain(ends.iter().copied())
        .chain(["--"])
        .collect();
    let differences = parse_differences(&git.run(&arguments)?)?;
    let mut paths: Vec<PathBuf> = differences.into_iter().map(|one| one.path).collect();
    if matches!(side, Side::WorkingTree) {
        if git.has_settings() {
            found.filtered = filtered(&git, &paths)?;
        }
        paths.extend(hidden_changes(repository)?);
    }
    let absolute = paths.iter().map(|path| repository.root.join(path));
    found.files = absolute.map(PathBuf::into_os_string).collect();
    // All files of submodules count as changed, because git would have to run in each of them to find out.
    let listed = repository.known.listed(&commit.hash)?;
    let submodules = listed.iter().filter(|listed| listed.mode == GITLINK);
    let folders = submodules.map(|listed| repository.root.join(&listed.path));
    found.folders = folders.collect();
    found.folders.sort();
    Ok(found)
}

/// Returns the command that compares two states, with its arguments except for the options; `None` if every path may
/// differ.
fn comparison<'c>(
    repository: &Repository,
    commit: &'c Commit,
    side: &'c Side,
) -> Result<Option<(Git, Vec<&'c str>)>, GitError> {
    let git = &repository.git;
    Ok(match side {
        Side::Commit(other) => Some((git.clone(), vec!["diff-tree", &commit.hash, &other.hash])),
        Side::Index => {
            let command = vec!["diff-index", "--cached", ANNOUNCED_IS_ABSENT, &commit.hash];
            Some((git.clone(), command))
        }
        Side::WorkingTree if repository.is_bare => None,
        Side::WorkingTree => without_filters(git)?.map(|settings| {
            let git = git.with_settings(settings);
            (git, vec!["diff-index", commit.hash.as_str()])
        }),
    })
}

/// Returns settings that prevent git from running the filters of the repository, which it does for files that it has to
/// compare. A filtered file then counts as changed. Returns `None` if a filter cannot be prevented.
fn without_filters(git: &Git) -> Result<Option<Vec<String>>, GitError> {
    let pattern = r"^filter\..*\.(clean|process|required)$";
    let output = git.output(&["config", "-z", "--name-only", "--get-regexp", pattern])?;
    let mut settings = Vec::new();
    for key in output.stdout.split(|byte| *byte == 0) {
        let key = text(key);
        if key.contains(['=', '\u{fffd}']) {
            return Ok(None);
        }
        match key.rsplit_once('.') {
            Some((_, "required")) => settings.push(format!("{key}=false")),
            Some(_) => settings.push(format!("{key}=")),
            None => {}
        }
    }
    Ok(Some(settings))
}

/// The maximum number of files that are looked up: their paths are arguments of a command.
const MOST: usize = 200;

/// Returns the files among `paths`, which are relative to the root, that have a filter in the attributes of the repository.
///
/// # Errors
/// Git cannot read the attributes.
pub(super) fn filtered(git: &Git, paths: &[PathBuf]) -> Result<Vec<PathBuf>, GitError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let options = ["check-attr", "-z", "filter", "--"].map(OsStr::new);
    let paths = paths.iter().take(MOST).map(|path| path.as_os_str());
    let arguments: Vec<&OsStr> = options.into_iter().chain(paths).collect();
    let output = git.run(&arguments)?;
    // The path, the attribute and its value, each with a null byte at its end.
    let fields: Vec<&[u8]> = output.split(|byte| *byte == 0).collect();
    let (records, _) = fields.as_chunks::<3>();
    let with_filter = records.iter().filter(|[_, _, value]| {
        let without: [&[u8]; 3] = [b"unspecified", b"unset", b"set"];
        !without.contains(value)
    });
    Ok(with_filter.map(|[path, ..]| path_of(path)).collect())
}
