//! Root folders of repositories.
//!
//! Folders of git that belong to a working tree.
//!
//! Addresses of the remote repositories of a clone.
//!
//! Source: git 2.47, `Documentation/config.txt` ("Syntax").
//!
//! Linked working trees below the main working tree of their repository.

use std::path::{Path, PathBuf};

use crate::filesystem::FileSystem;
use crate::git::git_folder;

impl FileSystem {
    /// Returns the nearest repository that contains a folder, given by its resolved path.
    pub(in crate::source) fn repository_root<'p>(&self, folder: &'p Path) -> Option<&'p Path> {
        let mut above = folder.ancestors();
        above.find(|folder| self.is_repository(folder))
    }

    /// Returns whether a folder is the root of a repository.
    pub(in crate::source) fn is_repository(&self, folder: &Path) -> bool {
        self.exists(&folder.join(".git"))
    }
}

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

/// Returns the URLs of all remotes of the repository at `root`, a resolved path. Included files are not read.
pub(in crate::source) fn remote_urls(root: &Path, files: &FileSystem) -> Vec<String> {
    let Some(folders) = git_folders(root, files) else {
        return Vec::new();
    };
    let folder = folders.shared.unwrap_or(folders.own);
    let config = small_text(&folder.join("config"), files);
    config.as_deref().map(urls).unwrap_or_default()
}

/// Returns the values of `url` in the sections of remotes.
fn urls(config: &str) -> Vec<String> {
    let mut is_remote = false;
    let mut found = Vec::new();
    for line in config.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let name = section.split([' ', '\t', ']', '"']).next();
            is_remote = name.is_some_and(|name| name.eq_ignore_ascii_case("remote"));
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| is_remote) else {
            continue;
        };
        if key.trim().eq_ignore_ascii_case("url") {
            let value = value.trim();
            let quoted = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
            found.push(quoted.unwrap_or(value).to_owned());
        }
    }
    found
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_urls_of_all_remotes_are_read() {
        let config = "[core]\n\turl = no\n[remote \"origin\"]\n\tfetch = +refs/*:refs/*\n\tURL = git@example.org:a/b.git\n\
                      \tpushurl = https://push.example\n[branch \"main\"]\n\tremote = origin\n[Remote \"up\"]\nurl=\"https://e/c\"\n";
        assert_eq!(urls(config), ["git@example.org:a/b.git", "https://e/c"]);
    }
}
