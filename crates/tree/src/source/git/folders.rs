//! Folders of git that belong to a working tree.

use std::path::{Path, PathBuf};

use crate::filesystem::FileSystem;
use crate::git::git_folder;

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
pub(in crate::source) fn git_folders(root: &Path, files: &FileSystem) -> Option<GitFolders> {
    let git = root.join(".git");
    let own = git_folder(root, files)?;
    if files.is_dir(&git) {
        return Some(GitFolders { own, shared: None });
    }
    let shared = first_line(&own.join("commondir"), files).map(|path| own.join(path));
    let names_worktree = || {
        let named = own.join(first_line(&own.join("gitdir"), files)?);
        Some(files.resolved_or_folded(&named) == files.resolved_or_folded(&git))
    };
    let is_submodule = || {
        let outer = files.repository_root(root.parent()?)?;
        Some(own.starts_with(git_folders(outer, files)?.own))
    };
    let is_known = names_worktree().or_else(is_submodule).unwrap_or(false);
    is_known.then_some(GitFolders { own, shared })
}

/// Returns the first line of a small regular file.
fn first_line(file: &Path, files: &FileSystem) -> Option<String> {
    small_text(file, files)?.lines().next().map(str::to_owned)
}

/// Returns the text of a small regular file.
pub(in crate::source) fn small_text(file: &Path, files: &FileSystem) -> Option<String> {
    let length = files.file_length(file).ok()??;
    if length > SMALL {
        return None;
    }
    files.read_text(file).ok()
}
