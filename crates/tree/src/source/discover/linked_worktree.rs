//! Linked working trees below the main working tree of their repository.

use std::path::Path;

use crate::filesystem::FileSystem;
use crate::source::git::folders::git_folders;

/// Returns whether a folder, given by its resolved path, is a working tree of `git worktree` whose repository has its main
/// working tree in a folder above. It repeats the files of that repository, which git does not track there.
pub(super) fn is_linked_worktree(folder: &Path, files: &FileSystem) -> bool {
    let shared = git_folders(folder, files).and_then(|git| files.canonical(&git.shared?).ok());
    shared.is_some_and(|shared| {
        let main = shared.parent().filter(|_| shared.ends_with(".git"));
        let is_above = main.is_some_and(|main| folder.starts_with(main) && folder != main);
        // A bare repository has no files that the working tree could repeat.
        is_above && files.exists(&shared.join("index"))
    })
}
