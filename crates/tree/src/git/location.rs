//! The folders of a repository, and where it stores what git reads.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::command::{Git, path_of};
use super::error::GitError;
use crate::filesystem::{FileSystem, canonical};

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

/// The command about a repository, which prints one line for each option. The last one fails outside of a working tree.
const OPTIONS: [&str; 8] = [
    "rev-parse",
    "--is-bare-repository",
    "--is-inside-work-tree",
    "--absolute-git-dir",
    "--git-common-dir",
    "--git-path",
    "index",
    "--show-toplevel",
];
/// Maximum size of a file with the name of a folder of git, in bytes. Source: git 2.47, `setup.c`, `read_gitfile_gently`.
const LONGEST: u64 = 1 << 20;

impl Location {
    /// Finds the repository of a folder: that of the nearest folder above it which contains `.git`, or else the folder
    /// itself if it is a bare repository.
    ///
    /// # Errors
    /// The folder is not in a repository, or git does not trust it.
    pub(super) fn of(folder: &Path) -> Result<Self, GitError> {
        let none = || GitError::NotARepository(folder.to_path_buf());
        let folder = canonical(folder).map_err(|_| none())?;
        let found = match roots(&folder).next() {
            Some(_) => Self::around(&folder)?,
            None => Self::bare(&folder)?,
        };
        found.ok_or_else(none)
    }

    /// Returns the repository of the nearest folder around a resolved path which contains `.git`. Git does not search for it:
    /// a commit can contain a folder that git would use as a bare repository, but nothing with the name `.git`.
    ///
    /// # Errors
    /// The path is in a folder of git, or git does not trust the repository.
    pub(super) fn around(path: &Path) -> Result<Option<Self>, GitError> {
        for root in roots(path) {
            if let Some(found) = Self::at(root)? {
                let is_inside = [&found.own, &found.common].map(|git| path.starts_with(git));
                return match is_inside.contains(&true) {
                    true => Err(GitError::InsideGitFolder(path.to_path_buf())),
                    false => Ok(Some(found)),
                };
            }
        }
        Ok(None)
    }

    /// Returns the repository of a folder that contains `.git`; `None` if git does not use that `.git`.
    pub(super) fn at(root: &Path) -> Result<Option<Self>, GitError> {
        let git = Git::at_root(root);
        let found = match Self::read(&git) {
            Err(GitError::NotARepository(_)) if root.join(".git").is_dir() => return Ok(None),
            found => found?,
        };
        // Git skips a folder `.git` that is not complete. It does not skip a file.
        if git_folder_at(root).is_some_and(|named| named != found.own) {
            return Ok(None);
        }
        for folder in [&found.own, &found.common] {
            if let Some(outer) = tree_with(folder, &found.common) {
                return Err(GitError::InsideWorkingTree(
                    folder.clone(),
                    outer.to_path_buf(),
                ));
            }
        }
        Ok(Some(found))
    }

    /// Returns the command of git in the repository.
    pub(super) fn git(&self) -> Git {
        let Some(root) = &self.root else {
            return Git::in_git_folder(&self.own);
        };
        let mut git = Git::at_root(root);
        // Hooks of git name the index of the commit. The index of another repository must not be used.
        git.keeps_index = self.index_folder.starts_with(&self.own);
        git
    }

    /// Returns a bare repository.
    fn bare(folder: &Path) -> Result<Option<Self>, GitError> {
        let git = Git::at_root(folder).with_settings(vec!["safe.bareRepository=all".to_owned()]);
        let found = Self::read(&git)?;
        Ok(Some(found).filter(|found| found.is_bare && found.own == folder))
    }

    /// Reads what git prints about a repository. A path with a line break is not supported.
    fn read(git: &Git) -> Result<Self, GitError> {
        let output = git.output(&OPTIONS)?;
        let lines: Vec<&[u8]> = output.stdout.split(|byte| *byte == b'\n').collect();
        let (is_bare, own, common, index, root) = match lines.as_slice() {
            [b"false", b"true", own, common, index, root, b""] => {
                (false, own, common, index, Some(root))
            }
            [is_bare, b"false", own, common, index, b""] => {
                (*is_bare == b"true", own, common, index, None)
            }
            _ if output.status.success() => {
                return Err(GitError::UnexpectedOutput("rev-parse".to_owned()));
            }
            _ => return Err(git.failure(&OPTIONS, &output)),
        };
        Ok(Self {
            is_bare,
            own: resolved(git, own)?,
            common: resolved(git, common)?,
            index_folder: folder_of_index(git, index),
            root: root.map(|root| resolved(git, root)).transpose()?,
        })
    }
}

/// Iterates over the folders that contain `.git`, from a folder upward.
pub(super) fn roots(folder: &Path) -> impl Iterator<Item = &Path> {
    let has_git = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    folder.ancestors().filter(has_git)
}

/// Returns the resolved folder to which `.git` in a folder leads, which git may not use: nothing proves that it belongs to
/// the files in that folder.
#[must_use]
pub fn git_folder(root: &Path, files: &FileSystem) -> Option<PathBuf> {
    let git = root.join(".git");
    if files.is_dir(&git) {
        return files.canonical(&git).ok();
    }
    let text = files.open_file(&git).and_then(|file| file.read(LONGEST));
    let text = text.ok()?;
    let named = text.strip_prefix(b"gitdir: ")?;
    files.canonical(&root.join(path_of(line(named)))).ok()
}

/// Returns the resolved folder on disk to which `.git` in a folder leads.
fn git_folder_at(root: &Path) -> Option<PathBuf> {
    git_folder(root, &FileSystem::default())
}

/// Returns the root of the working tree that contains a folder of git which a commit of its repository may contain. A folder
/// next to which `.git` names the repository in question is not such a root.
fn tree_with<'p>(folder: &'p Path, common: &Path) -> Option<&'p Path> {
    roots(folder).find(|root| {
        let below = folder.strip_prefix(root).unwrap_or(folder);
        let is_in_git = below.iter().any(|name| name == ".git");
        !is_in_git
            && git_folder_at(root).is_none_or(|named| named != *common)
            && entries_at(root, below).map_or(true, |entries| !entries.is_empty())
    })
}

/// Returns the entries of the index of a working tree at a path below its root, and below that path.
pub(super) fn entries_at(root: &Path, below: &Path) -> Result<Vec<u8>, GitError> {
    let path = match below.as_os_str().is_empty() {
        true => OsStr::new("."),
        false => below.as_os_str(),
    };
    let mut git = Git::at_root(root);
    git.keeps_index = false;
    let arguments = ["ls-files", "-s", "-z", "--"].map(OsStr::new);
    git.run(&[&arguments[..], &[path]].concat())
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

/// What the folder that all working trees share contains in addition to objects. Each may be a link.
const STORED: [&str; 4] = ["HEAD", "config", "packed-refs", "refs"];

/// The file that lists folders with more objects, one per line.
const ALTERNATES: &str = "info/alternates";

/// Returns the resolved paths from which git reads in the folder that all working trees share: the names of revisions, and
/// the objects, also those of other repositories that this one borrows.
pub(super) fn stored_at(common: &Path) -> Vec<PathBuf> {
    let stored = STORED.iter().map(|name| common.join(name));
    let mut locations: Vec<PathBuf> = stored.filter_map(|path| canonical(&path).ok()).collect();
    let mut folders = vec![real_path(&common.join("objects"))];
    let mut next = 0;
    while let Some(objects) = folders.get(next).cloned() {
        next += 1;
        for folder in [objects.clone(), objects.join("pack")] {
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            locations.push(real_path(&folder));
            locations.extend(entries.filter_map(|entry| canonical(&entry.path()).ok()));
        }
        let listed = std::fs::read(objects.join(ALTERNATES)).unwrap_or_default();
        let lines = listed.split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with(b"#")) {
            let folder = real_path(&objects.join(path_of(line)));
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
    }
    locations
}

/// Returns the path without links; the path itself if it does not exist, or if git quotes it.
fn real_path(path: &Path) -> PathBuf {
    canonical(path).unwrap_or_else(|_| path.to_path_buf())
}
