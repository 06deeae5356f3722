//! The default branch of a remote.

use super::error::GitError;
use super::names::text;
use super::repository::{Commit, Repository};

impl Repository {
    /// Returns the merge base of `HEAD` and the default branch of a remote: that of `origin`, else `origin/main` or
    /// `origin/master`, else those of the only remote, else the upstream of the current branch.
    ///
    /// # Errors
    /// The remote has no such branch, or the histories are not related.
    pub fn default_base(&self) -> Result<Commit, GitError> {
        self.default_base_of(&self.head()?)
    }

    /// Returns the commit that is checked out.
    ///
    /// # Errors
    /// The repository has no commit.
    pub fn head(&self) -> Result<Commit, GitError> {
        self.resolve("HEAD")
    }

    /// Returns the merge base of a commit and the one that is checked out. If it is one of them, it has that name.
    ///
    /// # Errors
    /// The repository has no commit, or the histories are not related.
    pub fn base_with_head(&self, commit: &Commit) -> Result<Commit, GitError> {
        let head = self.head()?;
        let base = self.merge_base(&head, commit)?;
        Ok(named_like(base, &[commit, &head]))
    }

    /// Returns the merge base of a commit and the default branch of a remote, as [`Repository::default_base`] does. If it
    /// is one of them, it has that name.
    ///
    /// # Errors
    /// The remote has no such branch, or the histories are not related.
    pub fn default_base_of(&self, commit: &Commit) -> Result<Commit, GitError> {
        let branch = default_branch(self)?;
        let base = self.merge_base(commit, &branch)?;
        Ok(named_like(base, &[commit, &branch]))
    }
}

/// Returns the first of `commits` that is the same commit as `base`, or else `base`.
fn named_like(base: Commit, commits: &[&Commit]) -> Commit {
    let mut commits = commits.iter();
    let same = commits.find(|commit| commit.hash == base.hash);
    same.map_or(base, |commit| (*commit).clone())
}

/// Returns the default branch of `origin`, else of the only remote, else the upstream of the current branch.
fn default_branch(repository: &Repository) -> Result<Commit, GitError> {
    let remotes = text(&repository.git.run(&["remote"])?);
    let only = match remotes.lines().collect::<Vec<_>>().as_slice() {
        [only] if *only != "origin" => Some((*only).to_owned()),
        _ => None,
    };
    for remote in std::iter::once("origin".to_owned()).chain(only) {
        for branch in ["HEAD", "main", "master"] {
            let reference = format!("refs/remotes/{remote}/{branch}");
            if let Some(commit) = repository.find_commit(&reference)? {
                let name = name_of(repository, &reference);
                return Ok(Commit { name, ..commit });
            }
        }
    }
    if let Some(upstream) = repository.find_commit("HEAD@{upstream}")? {
        let name = name_of(repository, "HEAD@{upstream}");
        return Ok(Commit { name, ..upstream });
    }
    Err(GitError::NoDefaultBranch {
        is_shallow: repository.is_shallow(),
    })
}

/// Returns the name of the branch to which a reference leads, such as `origin/main`.
fn name_of(repository: &Repository, reference: &str) -> String {
    let output = repository
        .git
        .run(&["rev-parse", "--abbrev-ref", reference]);
    let name = output.map(|output| text(&output)).unwrap_or_default();
    if name.is_empty() {
        reference.to_owned()
    } else {
        name
    }
}
