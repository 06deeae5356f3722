//! The paths of a revision.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashMap;

use super::blobs::Blobs;
use super::command::Git;
use super::error::GitError;
use super::names::{is_valid, path_of};
use crate::filesystem::{Entry, Kind};

/// Mode of a submodule in a tree.
pub(super) const GITLINK: &str = "160000";

/// Mode of a symbolic link in a tree.
pub(super) const LINK: &str = "120000";

/// A path of a revision.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Folder,
    File(Object),
    Link(Object),
    /// A submodule whose content cannot be read, with the reason.
    Unread(String),
}

/// An object, with the repository that stores it.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) name: String,
    pub(super) blobs: Arc<Blobs>,
}

impl Node {
    pub(super) const fn kind(&self) -> Kind {
        match self {
            Self::Folder | Self::Unread(_) => Kind::Folder,
            Self::File(_) => Kind::File,
            Self::Link(_) => Kind::Link,
        }
    }
}

/// The paths of a revision, relative to its root, with the names in each folder.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: HashMap<OsString, Node>,
    folders: HashMap<OsString, Vec<Entry>>,
}

/// A path that `git ls-tree` lists.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) path: PathBuf,
    pub(super) mode: String,
    pub(super) object: String,
}

impl Tree {
    /// Creates a tree with an empty root.
    pub(super) fn new() -> Self {
        let root = OsString::new();
        Self {
            nodes: HashMap::from([(root.clone(), Node::Folder)]),
            folders: HashMap::from([(root, Vec::new())]),
        }
    }

    pub(super) fn get(&self, path: &Path) -> Option<&Node> {
        self.nodes.get(path.as_os_str())
    }

    /// Returns the entries of a folder.
    pub(super) fn entries(&self, folder: &Path) -> &[Entry] {
        let entries = self.folders.get(folder.as_os_str());
        entries.map_or(&[], Vec::as_slice)
    }

    /// Adds a path, and the folders that contain it.
    pub(super) fn add(&mut self, path: &Path, node: Node) {
        let kind = node.kind();
        if self.nodes.insert(path.as_os_str().into(), node).is_some() {
            return;
        }
        if kind == Kind::Folder {
            self.folders.entry(path.as_os_str().into()).or_default();
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return;
        };
        if self.get(parent).is_none() {
            self.add(parent, Node::Folder);
        }
        let name = name.to_os_string();
        let siblings = self.folders.entry(parent.as_os_str().into());
        siblings.or_default().push(Entry { name, kind });
    }
}

/// Lists all files, links and submodules of a commit.
pub(super) fn list(git: &Git, commit: &str) -> Result<Vec<Listed>, GitError> {
    let output = git.run(&[
        "ls-tree",
        "-r",
        "-z",
        "--full-tree",
        "--end-of-options",
        commit,
    ]);
    let output = output.map_err(|error| match error {
        GitError::Failed(..) => missing(git, commit),
        error => error,
    })?;
    let lines = output.split(|byte| *byte == 0);
    lines
        .filter(|line| !line.is_empty())
        .map(|line| parse(line).ok_or_else(|| GitError::UnexpectedOutput("ls-tree".to_owned()))?)
        .collect()
}

/// Returns the error for an object that is not stored.
fn missing(git: &Git, object: &str) -> GitError {
    GitError::MissingObject {
        object: object.to_owned(),
        is_partial: is_partial(git),
    }
}

/// Returns whether a clone leaves out objects.
pub(super) fn is_partial(git: &Git) -> bool {
    let pattern = r"^remote\..*\.(promisor|partialclonefilter)$";
    let found = git.output(&["config", "--get-regexp", pattern]);
    found.is_ok_and(|found| found.status.success())
}

/// Parses `MODE TYPE OBJECT<tab>PATH`.
fn parse(line: &[u8]) -> Option<Result<Listed, GitError>> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let (header, path) = (str::from_utf8(line.get(..tab)?).ok()?, line.get(tab + 1..)?);
    let mut words = header.split(' ');
    let (mode, _, object) = (words.next()?, words.next()?, words.next()?);
    let path = path_of(path);
    if !is_valid(&path) {
        return Some(Err(GitError::InvalidPath(path.display().to_string())));
    }
    Some(Ok(Listed {
        path,
        mode: mode.to_owned(),
        object: object.to_owned(),
    }))
}
