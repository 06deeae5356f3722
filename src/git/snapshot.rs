//! States of a repository as file systems.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashMap;

use super::empty_tree::empty_tree;
use super::error::GitError;
use super::failures::Failures;
use super::index_file::index_of;
use super::names::is_valid;
use super::object_files::ObjectFiles;
use super::raw_diff::{ANNOUNCED_IS_ABSENT, OPTIONS, parse};
use super::repository::{Commit, Repository};
use super::submodules::TreeBuilder;
use super::tree::{Listed, Tree, list};
use crate::filesystem::FileSystem;

/// State of a repository as a file system.
#[derive(Clone, Debug)]
pub struct Snapshot {
    files: FileSystem,
    failures: Failures,
    unread: Arc<[(PathBuf, String)]>,
}

impl Repository {
    /// Reads the tree of a commit as if it were checked out in the working tree.
    ///
    /// # Errors
    /// The tree is not stored in the repository.
    pub fn snapshot(&self, commit: &Commit) -> Result<Snapshot, GitError> {
        build(self, list(&self.git, &commit.hash)?)
    }

    /// Reads the staged files as if they were checked out in the working tree. Files that are only announced
    /// (`git add -N`) are not staged.
    ///
    /// # Errors
    /// The index contains a merge conflict, or the files are not stored in the repository.
    pub fn snapshot_of_index(&self) -> Result<Snapshot, GitError> {
        build(self, staged(self)?)
    }
}

impl Snapshot {
    /// Creates a snapshot that is the disk.
    pub(super) fn of_disk() -> Self {
        Self {
            files: FileSystem::default(),
            failures: Failures::default(),
            unread: Arc::default(),
        }
    }

    /// Creates a snapshot of the disk, with the files of a tree that do not exist there.
    pub(super) fn over_disk(repository: &Repository, tree: Tree) -> Self {
        let failures = Failures::default();
        let mut files = ObjectFiles::new(repository, tree, failures.clone());
        files.prefers_disk = true;
        Self {
            files: FileSystem::new(files),
            failures,
            unread: Arc::default(),
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

    /// Returns the submodules whose recorded commit cannot be read, with the reasons. Such a folder is empty if
    /// it is not initialized in the working tree either, else it is reported as a folder that cannot be read.
    #[must_use]
    pub fn unread_submodules(&self) -> &[(PathBuf, String)] {
        &self.unread
    }
}

/// Lists the staged files: those of `HEAD` with the staged changes.
fn staged(repository: &Repository) -> Result<Vec<Listed>, GitError> {
    let git = &repository.git;
    let (head, listed) = match repository.find_commit("HEAD")? {
        Some(head) => {
            let listed = list(git, &head.hash)?;
            (head.hash, listed)
        }
        // The first commit is compared with the empty tree.
        None => (empty_tree(repository)?, Vec::new()),
    };
    let mut listed: HashMap<PathBuf, Listed> = listed
        .into_iter()
        .map(|listed| (listed.path.clone(), listed))
        .collect();
    let options = OPTIONS.map(|option| match option {
        "--ignore-submodules=all" => "--ignore-submodules=none",
        option => option,
    });
    let mut arguments = vec!["diff-index", "--cached", ANNOUNCED_IS_ABSENT];
    arguments.extend(options);
    arguments.extend([head.as_str(), "--"]);
    for change in parse(&git.run(&arguments)?)? {
        if change.is_unmerged {
            return Err(GitError::Unmerged(change.path.display().to_string()));
        }
        let (path, mode, object) = (change.path, change.mode, change.object);
        if !is_valid(&path) {
            return Err(GitError::InvalidPath(path.display().to_string()));
        }
        if mode.is_empty() {
            listed.remove(&path);
        } else {
            listed.insert(path.clone(), Listed { path, mode, object });
        }
    }
    let mut listed: Vec<Listed> = listed.into_values().collect();
    listed.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(listed)
}

fn build(repository: &Repository, listed: Vec<Listed>) -> Result<Snapshot, GitError> {
    let files = listed.iter();
    let index = index_of(files.map(|listed| (listed.path.as_path(), listed.object.as_str())));
    let mut builder = TreeBuilder {
        tree: Tree::new(),
        root: &repository.root,
        is_bare: repository.is_bare,
        has_links: repository.has_links()?,
        submodules: Vec::new(),
        unread: Vec::new(),
    };
    let folders = [repository.own.as_path(), repository.common.as_path()];
    builder.add(&repository.git, &folders, Path::new(""), listed, 0)?;
    let (submodules, unread) = (builder.submodules, builder.unread);
    let failures = Failures::default();
    let mut files = ObjectFiles::new(repository, builder.tree, failures.clone());
    files.add_git_file(repository.own.join("index"), index);
    for submodule in submodules {
        let paths = submodule.files.iter();
        let index = index_of(paths.map(|(path, object)| (path.as_path(), object.as_str())));
        files.add_git_file(submodule.git_folder.join("index"), index);
        files.add_submodule(&submodule.path, &submodule.git_folder);
    }
    Ok(Snapshot {
        files: FileSystem::new(files),
        failures,
        unread: unread.into(),
    })
}
