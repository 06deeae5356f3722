//! States of a repository as file systems: a commit, the index, and the working tree.
//!
//! The paths that differ between two states of a repository.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashSet;

use super::command::{Git, text};
use super::error::GitError;
use super::object_reader::{Failures, ObjectFiles};
use super::repository::{Commit, Flagged, Repository};
use super::tree::{
    ANNOUNCED_IS_ABSENT, GITLINK, LINK, Listed, Node, OPTIONS, Object, Tree, parse_differences,
    patched,
};
use crate::filesystem::FileSystem;

/// State of a repository as a file system.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    files: FileSystem,
    failures: Failures,
    submodules: Arc<[PathBuf]>,
}

impl Repository {
    /// Reads the tree of a commit as if it were checked out in the working tree.
    ///
    /// # Errors
    /// The tree is not stored in the repository.
    pub fn snapshot(&self, commit: &Commit) -> Result<Snapshot, GitError> {
        build(self, &self.known.listed(&commit.hash)?)
    }

    /// Reads the staged files as if they were checked out in the working tree. Files that are only announced
    /// (`git add -N`) are not staged.
    ///
    /// # Errors
    /// The index contains a merge conflict, or the files are not stored in the repository.
    pub fn snapshot_of_index(&self) -> Result<Snapshot, GitError> {
        build(self, &staged(self)?)
    }
}

impl Snapshot {
    /// Creates a snapshot of the disk, with the files of a tree that do not exist there.
    pub(super) fn over_disk(repository: &Repository, tree: Tree) -> Self {
        let failures = Failures::default();
        let mut files = ObjectFiles::new(repository, tree, failures.clone());
        files.prefers_disk = true;
        Self {
            files: FileSystem::new(files),
            failures,
            submodules: Arc::default(),
        }
    }

    /// Returns the files, at the paths of the working tree. Paths outside of it, and `.git`, are those on disk.
    #[must_use]
    pub fn files(&self) -> FileSystem {
        self.files.clone()
    }

    /// Returns the first file, in the order of paths, whose object could not be read. Check this after reading: without
    /// an error, everything that was read is complete.
    #[must_use]
    pub fn failure(&self) -> Option<(PathBuf, GitError)> {
        self.failures.first()
    }

    /// Returns the submodules. Their files are those of the working tree, not those of the recorded commit.
    #[must_use]
    pub fn submodules(&self) -> &[PathBuf] {
        &self.submodules
    }
}

/// Lists the staged files: those of `HEAD` with the staged changes.
fn staged(repository: &Repository) -> Result<Vec<Listed>, GitError> {
    let (head, listed) = match repository.find_commit("HEAD")? {
        Some(head) => {
            let listed = repository.known.listed(&head.hash)?;
            (head.hash, listed)
        }
        // The first commit is compared with the empty tree.
        None => (empty_tree(repository)?, Arc::default()),
    };
    let mut arguments = vec!["diff-index", "--cached", ANNOUNCED_IS_ABSENT];
    arguments.extend(OPTIONS);
    arguments.extend([head.as_str(), "--"]);
    let differences = parse_differences(&repository.git.run(&arguments)?)?;
    if let Some(unmerged) = differences.iter().find(|one| one.is_unmerged) {
        return Err(GitError::Unmerged(unmerged.path.display().to_string()));
    }
    patched(&listed, &differences, |difference| &difference.after)
}

fn build(repository: &Repository, listed: &[Listed]) -> Result<Snapshot, GitError> {
    let mut tree = Tree::new();
    let mut submodules = Vec::new();
    let has_links = listed.iter().any(|listed| listed.mode == LINK) && repository.has_links()?;
    for listed in listed {
        if listed.mode == GITLINK {
            submodules.push(repository.root.join(&listed.path));
        }
        if let Some(node) = node_of(repository, listed, has_links) {
            tree.add(&listed.path, node);
        }
    }
    let failures = Failures::default();
    Ok(Snapshot {
        files: FileSystem::new(ObjectFiles::new(repository, tree, failures.clone())),
        failures,
        submodules: submodules.into(),
    })
}

/// Returns what a revision contains at a path; `None` for a submodule that is not in the working tree.
fn node_of(repository: &Repository, listed: &Listed, has_links: bool) -> Option<Node> {
    let object = Object {
        name: listed.object.clone(),
        blobs: Arc::clone(&repository.known.blobs),
    };
    match listed.mode.as_str() {
        GITLINK => {
            let found = repository.root.join(&listed.path).symlink_metadata();
            let is_folder = !repository.is_bare && found.is_ok_and(|found| found.is_dir());
            is_folder.then_some(Node::Submodule)
        }
        LINK if has_links => Some(Node::Link(object)),
        _ => Some(Node::File(object)),
    }
}

impl Repository {
    /// Returns the commit that is checked out; the empty tree before the first commit.
    ///
    /// # Errors
    /// Git fails.
    pub fn head_or_empty_tree(&self) -> Result<Commit, GitError> {
        if let Some(head) = self.find_commit("HEAD")? {
            return Ok(head);
        }
        Ok(Commit::new("empty tree", empty_tree(self)?))
    }
}

/// Returns the name of the empty tree, which git knows without storing it.
pub(super) fn empty_tree(repository: &Repository) -> Result<String, GitError> {
    let format = repository.git.run(&["rev-parse", "--show-object-format"])?;
    Ok(match text(&format).as_str() {
        "sha256" => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        _ => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    }
    .to_owned())
}

/// Returns the paths of existing files whose changes git does not see: those that are assumed to be unchanged, or that
/// exist although a sparse checkout leaves them out.
pub(super) fn hidden_changes(repository: &Repository) -> Result<Vec<PathBuf>, GitError> {
    if repository.is_bare {
        return Ok(Vec::new());
    }
    let index = repository.known.index()?;
    let exists = |path: &PathBuf| repository.root.join(path).symlink_metadata().is_ok();
    Ok(index
        .flagged
        .iter()
        .filter(|flagged| !flagged.is_skipped || exists(&flagged.listed.path))
        .map(|flagged| flagged.listed.path.clone())
        .collect())
}

impl Repository {
    /// Reads the working tree. Files that a sparse checkout leaves out are read from the index, so that a comparison
    /// with a commit does not report them as removed.
    ///
    /// # Errors
    /// Git cannot list the index.
    pub fn snapshot_of_working_tree(&self) -> Result<Snapshot, GitError> {
        snapshot_of_working_tree(self)
    }
}

fn snapshot_of_working_tree(repository: &Repository) -> Result<Snapshot, GitError> {
    if repository.is_bare {
        return Ok(Snapshot::default());
    }
    let index = repository.known.index()?;
    let skipped = index.flagged.iter().filter(|file| file.is_skipped);
    let mut tree = Tree::new();
    let mut is_complete = true;
    let has_links = repository.has_links()?;
    for Flagged { listed, .. } in skipped.filter(|file| file.listed.mode != GITLINK) {
        if let Some(node) = node_of(repository, listed, has_links) {
            is_complete = false;
            tree.add(&listed.path, node);
        }
    }
    Ok(if is_complete {
        Snapshot::default()
    } else {
        Snapshot::over_disk(repository, tree)
    })
}

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
}

impl ChangedPaths {
    /// Returns the paths of some files, and no others.
    pub fn of_files(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let paths = paths.into_iter();
        Self {
            files: paths.map(PathBuf::into_os_string).collect(),
            folders: Vec::new(),
        }
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
