//! States of a repository as file systems.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::empty_tree::empty_tree;
use super::error::GitError;
use super::failures::Failures;
use super::object_files::ObjectFiles;
use super::raw_diff::{ANNOUNCED_IS_ABSENT, OPTIONS, parse, patched};
use super::repository::{Commit, Repository};
use super::submodules::TreeBuilder;
use super::tree::{Listed, Tree};
use crate::filesystem::FileSystem;

/// State of a repository as a file system.
#[derive(Clone, Debug, Default)]
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
        build(self, &self.known.listed(&commit.hash)?)
    }

    /// Reads the staged files as if they were checked out in the working tree. Files that are only announced
    /// (`git add -N`) are not staged.
    ///
    /// # Errors
    /// The index contains a merge conflict, or the files are not stored in the repository.
    pub fn snapshot_of_index(&self) -> Result<Snapshot, GitError> {
        build(self, &staged(self)?.into())
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
    let differences = parse(&repository.git.run(&arguments)?)?;
    if let Some(unmerged) = differences.iter().find(|one| one.is_unmerged) {
        return Err(GitError::Unmerged(unmerged.path.display().to_string()));
    }
    patched(&listed, &differences, |difference| &difference.after)
}

fn build(repository: &Repository, listed: &Arc<[Listed]>) -> Result<Snapshot, GitError> {
    let mut builder = TreeBuilder {
        tree: Tree::new(),
        repository,
        has_links: None,
        submodules: Vec::new(),
        unread: Vec::new(),
    };
    let folders = [repository.own.as_path(), repository.common.as_path()];
    let source = (&repository.git, &repository.known.blobs);
    builder.add(source, &folders, Path::new(""), listed, 0)?;
    let (submodules, unread) = (builder.submodules, builder.unread);
    let failures = Failures::default();
    let mut files = ObjectFiles::new(repository, builder.tree, failures.clone());
    for submodule in submodules {
        files.add_submodule(&submodule.path, &submodule.git_folder);
    }
    Ok(Snapshot {
        files: FileSystem::new(files),
        failures,
        unread: unread.into(),
    })
}
