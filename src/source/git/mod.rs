//! What git keeps beside a working tree, read without running git.

mod index;

use std::path::{Path, PathBuf};

use crate::filesystem::canonical;

use super::kustomization::identity;
use super::read::{read_file, read_text};

pub use index::TrackedFiles;

/// A file of a few lines that git writes.
const SMALL: u64 = 64 << 10;

/// The folders of git that belong to a working tree.
#[derive(Debug)]
pub(super) struct GitFolders {
    /// Of this working tree alone: it has the index.
    pub(super) own: PathBuf,
    /// Shared by all working trees of the clone, for a working tree made by `git worktree`.
    pub(super) shared: Option<PathBuf>,
}

/// Finds the folders of git of the repository at `root`, a resolved path.
///
/// A file `.git` names a folder elsewhere. It is followed where that folder is known to belong to
/// this working tree: git's own folder of a worktree names the worktree in return, and that of a
/// submodule is inside of the folder of the repository around it.
pub(super) fn git_folders(root: &Path) -> Option<GitFolders> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(GitFolders {
            own: git,
            shared: None,
        });
    }
    let own = root.join(first_line(&git)?.strip_prefix("gitdir: ")?);
    let own = canonical(&own).ok()?;
    let shared = first_line(&own.join("commondir")).map(|path| own.join(path));
    let names_it = || {
        let back = own.join(first_line(&own.join("gitdir"))?);
        Some(identity(&back) == identity(&git))
    };
    let is_submodule = || {
        let outer = super::boundary::repository_root(root.parent()?)?;
        let outer = canonical(&git_folders(outer)?.own).ok()?;
        Some(own.starts_with(outer))
    };
    let is_known = names_it().or_else(is_submodule).unwrap_or(false);
    is_known.then_some(GitFolders { own, shared })
}

/// The first line of a small regular file.
fn first_line(file: &Path) -> Option<String> {
    let metadata = std::fs::metadata(file).ok()?;
    if !metadata.is_file() || metadata.len() > SMALL {
        return None;
    }
    let text = read_text(file).ok()?;
    text.lines().next().map(str::to_owned)
}

impl TrackedFiles {
    /// Reads which files git tracks in the repository at `root`, a resolved path. `None` where
    /// the index cannot be found.
    ///
    /// # Errors
    /// Why the index cannot be read, in words.
    #[must_use]
    pub fn read(root: &Path) -> Option<Result<Self, String>> {
        let index = git_folders(root)?.own.join("index");
        Some(match read_file(&index) {
            Ok(bytes) => Self::parse(&bytes),
            // Nothing was added yet.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(super::find::reason(&error)),
        })
    }
}
