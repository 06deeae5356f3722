//! The tree without files, with which the first commit is compared.

use super::error::GitError;
use super::names::text;
use super::repository::{Commit, Repository};

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
