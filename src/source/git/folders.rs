//! Folders of git that belong to a working tree.

use std::path::{Path, PathBuf};

use crate::filesystem::canonical;
use crate::source::git::index::TrackedFiles;
use crate::source::read::{read_file, read_text};
use crate::source::resolve::resolved_or_folded;

/// Maximum size of small files that git writes, in bytes.
const SMALL: u64 = 64 << 10;

/// Folders of git that belong to a working tree.
#[derive(Debug)]
pub(in crate::source) struct GitFolders {
    /// The folder of this working tree only, which contains the index.
    pub(in crate::source) own: PathBuf,
    /// For a working tree of `git worktree`: the folder that all working trees of the clone share.
    pub(in crate::source) shared: Option<PathBuf>,
}

/// Finds the folders of git for the repository at `root`, a resolved path.
///
/// If `.git` is a file, it names another folder, which is used only if it provably belongs to this working tree:
/// the git folder of a worktree names the worktree, and that of a submodule is inside the git folder of the
/// outer repository.
pub(in crate::source) fn git_folders(root: &Path) -> Option<GitFolders> {
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
    let names_worktree = || {
        let named = own.join(first_line(&own.join("gitdir"))?);
        Some(resolved_or_folded(&named) == resolved_or_folded(&git))
    };
    let is_submodule = || {
        let outer = crate::source::repository::repository_root(root.parent()?)?;
        let outer = canonical(&git_folders(outer)?.own).ok()?;
        Some(own.starts_with(outer))
    };
    let is_known = names_worktree().or_else(is_submodule).unwrap_or(false);
    is_known.then_some(GitFolders { own, shared })
}

/// Returns the first line of a small regular file.
fn first_line(file: &Path) -> Option<String> {
    small_text(file)?.lines().next().map(str::to_owned)
}

/// Returns the text of a small regular file.
pub(in crate::source) fn small_text(file: &Path) -> Option<String> {
    let metadata = std::fs::metadata(file).ok()?;
    if !metadata.is_file() || metadata.len() > SMALL {
        return None;
    }
    read_text(file).ok()
}

impl TrackedFiles {
    /// Reads the files that git tracks in the repository at `root`, a resolved path. Returns `None` if
    /// there is no index.
    ///
    /// # Errors
    /// The reason why the index cannot be read.
    #[must_use]
    pub fn read(root: &Path) -> Option<Result<Self, String>> {
        let index = git_folders(root)?.own.join("index");
        Some(match read_file(&index) {
            Ok(bytes) => Self::parse(&bytes),
            // No file was added yet.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(crate::source::io_error::io_error_reason(&error)),
        })
    }
}
