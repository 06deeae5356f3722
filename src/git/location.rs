//! The folders of a repository.

use std::path::{Path, PathBuf};

use super::command::Git;
use super::error::GitError;
use super::names::{path_of, text};
use crate::filesystem::canonical;

/// The resolved folders of a repository.
#[derive(Debug)]
pub(super) struct Location {
    pub(super) is_bare: bool,
    /// The folder of git that belongs to the working tree.
    pub(super) own: PathBuf,
    /// The folder of git that all working trees share.
    pub(super) common: PathBuf,
    /// The folder of the index that the environment or the repository names; empty if it does not exist.
    pub(super) index_folder: PathBuf,
    /// The root of the working tree that contains the folder; `None` if there is none.
    pub(super) root: Option<PathBuf>,
}

/// Options of `git rev-parse`, each of which prints one line.
const KIND: [&str; 2] = ["--is-bare-repository", "--is-inside-work-tree"];
const OWN: &str = "--absolute-git-dir";
const COMMON: &str = "--git-common-dir";
const INDEX: [&str; 2] = ["--git-path", "index"];
/// Fails outside of a working tree.
const ROOT: &str = "--show-toplevel";

impl Location {
    /// Finds the repository of a folder.
    ///
    /// # Errors
    /// The folder is not in a repository, or git does not trust it.
    pub(super) fn of(folder: &Path) -> Result<Self, GitError> {
        let git = Git::in_folder(folder);
        match Self::at_once(&git)? {
            Some(found) => Ok(found),
            None => Self::one_by_one(&git),
        }
    }

    /// Runs git once; returns `None` if its output is ambiguous, because a path contains a line break, or if the folder
    /// is not in a working tree.
    fn at_once(git: &Git) -> Result<Option<Self>, GitError> {
        let all = [&KIND[..], &[OWN, COMMON], &INDEX, &[ROOT]].concat();
        let output = git.output(&[&["rev-parse"], &all[..]].concat())?;
        let lines: Vec<&[u8]> = output.stdout.split(|byte| *byte == b'\n').collect();
        let [b"false", b"true", own, common, index, root, b""] = lines.as_slice() else {
            return Ok(None);
        };
        if !output.status.success() {
            return Ok(None);
        }
        Ok(Some(Self {
            is_bare: false,
            own: resolved(git, own)?,
            common: resolved(git, common)?,
            index_folder: folder_of_index(git, index),
            root: Some(resolved(git, root)?),
        }))
    }

    fn one_by_one(git: &Git) -> Result<Self, GitError> {
        let print = |options: &[&str]| {
            let output = git.run(&[&["rev-parse"], options].concat())?;
            Ok(line(&output).to_vec())
        };
        let kind = text(&print(&KIND)?);
        let (is_bare, is_inside) = match kind.as_str() {
            "true\nfalse" => (true, false),
            kind => (false, kind == "false\ntrue"),
        };
        let root = match is_inside {
            true => Some(resolved(git, &print(&[ROOT])?)?),
            false => None,
        };
        Ok(Self {
            is_bare,
            own: resolved(git, &print(&[OWN])?)?,
            common: resolved(git, &print(&[COMMON])?)?,
            index_folder: folder_of_index(git, &print(&INDEX)?),
            root,
        })
    }
}

/// Returns the resolved path for a path that is relative to the folder of a command.
fn resolved(git: &Git, path: &[u8]) -> Result<PathBuf, GitError> {
    let path = git.folder().join(path_of(path));
    canonical(&path).map_err(|error| GitError::Failed("rev-parse".to_owned(), error.to_string()))
}

fn folder_of_index(git: &Git, path: &[u8]) -> PathBuf {
    let index = git.folder().join(path_of(path));
    let folder = index.parent().and_then(|folder| canonical(folder).ok());
    folder.unwrap_or_default()
}

/// Removes the line break at the end of the output of a command. A path may contain others.
fn line(output: &[u8]) -> &[u8] {
    let output = output.strip_suffix(b"\n").unwrap_or(output);
    output.strip_suffix(b"\r").unwrap_or(output)
}
