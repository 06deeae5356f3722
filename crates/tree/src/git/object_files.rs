//! The files of a revision, read as if they were on disk.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use super::command::path_of;
use super::object_reader::{Failures, ObjectReader};
use super::repository::Repository;
use super::tree::{Node, Object, Tree};
use crate::filesystem::{Disk, Entry, Kind, OpenFile, PathProblem, ReadFiles, path_error};

/// Name of the folder or file of git in a working tree.
const GIT: &str = ".git";

/// The files of a revision at the paths of the working tree, and all other files of the disk.
#[derive(Debug)]
pub(super) struct ObjectFiles {
    /// The resolved root of the working tree.
    root: PathBuf,
    /// The folder of git, if it is not at its usual path in the root.
    bare: Option<PathBuf>,
    tree: Tree,
    /// The paths of the files `.git` of submodules.
    submodules: HashMap<PathBuf, Arc<[u8]>>,
    reader: ObjectReader,
    /// Whether only paths that do not exist on disk are read from the tree.
    pub(super) prefers_disk: bool,
}

/// Where a path is stored.
#[derive(Debug)]
pub(super) enum Place<'f> {
    Disk(PathBuf),
    Tree(&'f Node),
    Bytes(&'f Arc<[u8]>),
}

impl ObjectFiles {
    pub(super) fn new(repository: &Repository, tree: Tree, failures: Failures) -> Self {
        Self {
            root: repository.root.clone(),
            bare: repository.is_bare.then(|| repository.own.clone()),
            tree,
            submodules: HashMap::new(),
            reader: ObjectReader::new(repository, failures),
            prefers_disk: false,
        }
    }

    /// Adds the file `.git` of a submodule.
    pub(super) fn add_submodule(&mut self, path: &Path, git_folder: &Path) {
        let mut content = b"gitdir: ".to_vec();
        content.extend(git_folder.as_os_str().as_encoded_bytes());
        content.push(b'\n');
        let path = self.root.join(path).join(GIT);
        self.submodules.insert(path, content.into());
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the entry of the tree at a path relative to its root.
    pub(super) fn node(&self, below: &Path) -> Option<&Node> {
        self.tree.get(below)
    }

    /// Returns where a path without links and `..` is stored. A link at its end is not followed.
    ///
    /// # Errors
    /// The path does not exist.
    pub(super) fn place(&self, path: &Path) -> io::Result<Place<'_>> {
        let below = match self.spelled_below(path) {
            Some(below) => below,
            None => {
                let Ok(below) = path.strip_prefix(&self.root) else {
                    return Ok(Place::Disk(path.to_path_buf()));
                };
                let is_of_git = below.components().any(|part| part.as_os_str() == GIT);
                if is_of_git && let Some(place) = self.place_in_git(path, below) {
                    return Ok(place);
                }
                below
            }
        };
        if self.prefers_disk && path.symlink_metadata().is_ok() {
            return Ok(Place::Disk(path.to_path_buf()));
        }
        let node = self.tree.get(below).map(Place::Tree);
        node.ok_or_else(|| path_error(PathProblem::Missing))
    }

    /// Returns where a path is stored that is `.git`, or below it; `None` if git does not use this folder.
    fn place_in_git(&self, path: &Path, below: &Path) -> Option<Place<'_>> {
        if let Ok(rest) = below.strip_prefix(GIT) {
            return Some(match &self.bare {
                Some(folder) if rest.as_os_str().is_empty() => Place::Disk(folder.clone()),
                Some(folder) => Place::Disk(folder.join(rest)),
                None => Place::Disk(path.to_path_buf()),
            });
        }
        if let Some(content) = self.submodules.get(path)
            && path.symlink_metadata().is_err()
        {
            return Some(Place::Bytes(content));
        }
        let mut above = path.ancestors();
        let is_of_submodule = above.any(|above| self.submodules.contains_key(above));
        is_of_submodule.then(|| Place::Disk(path.to_path_buf()))
    }

    /// Returns the target of a link of the tree.
    pub(super) fn target(&self, path: &Path, object: &Object) -> io::Result<PathBuf> {
        Ok(path_of(&self.reader.bytes(path, object)?))
    }

    /// Returns the kind of the entry at a path without links and `..`.
    pub(super) fn kind_at(&self, path: &Path) -> io::Result<Kind> {
        match self.place(path)? {
            Place::Disk(path) => Disk.symlink_kind(&path),
            Place::Tree(node) => Ok(node.kind()),
            Place::Bytes(_) => Ok(Kind::File),
        }
    }

    fn open_at(&self, path: &Path) -> io::Result<OpenFile> {
        match self.place(path)? {
            Place::Disk(path) => Disk.open_file(&path),
            Place::Bytes(content) => {
                let content = Arc::clone(content);
                Ok(OpenFile::stored(content.len() as u64, move || {
                    Ok(content.to_vec())
                }))
            }
            Place::Tree(Node::File(object)) => self.reader.open(path, object),
            Place::Tree(Node::Link(_)) => Err(io::Error::other("a symbolic link is in the way")),
            Place::Tree(_) => Err(io::Error::other("it is not a regular file")),
        }
    }

    /// Returns the entries of a folder of the tree, with those that are on disk: `.git`, and the rest of a working tree
    /// that is only partly read from the tree.
    fn entries_of(&self, path: &Path, below: &Path) -> io::Result<Vec<io::Result<Entry>>> {
        let on_disk = self.prefers_disk && path.symlink_metadata().is_ok();
        let mut entries = match on_disk {
            true => Disk.entries(path)?,
            false => Vec::new(),
        };
        let names = entries.iter().flatten().map(|entry| entry.name.clone());
        let known: HashSet<OsString> = names.collect();
        let stored = self.tree.entries(below).iter();
        let stored = stored.filter(|entry| !known.contains(&entry.name));
        entries.extend(stored.cloned().map(Ok));
        let git = path.join(GIT);
        let may_have_git = below.as_os_str().is_empty() || self.submodules.contains_key(&git);
        if may_have_git
            && !on_disk
            && let Ok(kind) = self.kind_at(&git)
        {
            let name = GIT.into();
            entries.push(Ok(Entry { name, kind }));
        }
        Ok(entries)
    }
}

impl ReadFiles for ObjectFiles {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.resolved(path, true)
    }

    fn kind(&self, path: &Path) -> io::Result<Kind> {
        if let Some(found) = self.direct(path) {
            return found.map(Node::kind);
        }
        self.kind_at(&self.resolved(path, true)?)
    }

    fn symlink_kind(&self, path: &Path) -> io::Result<Kind> {
        if let Some(found) = self.direct(path) {
            return found.map(Node::kind);
        }
        self.kind_at(&self.resolved(path, false)?)
    }

    fn file_length(&self, path: &Path) -> io::Result<Option<u64>> {
        let real = self.resolved(path, true)?;
        match self.place(&real)? {
            Place::Disk(path) => Disk.file_length(&path),
            Place::Bytes(content) => Ok(Some(content.len() as u64)),
            Place::Tree(Node::File(object)) => Ok(Some(self.reader.file_length(&real, object)?)),
            Place::Tree(_) => Ok(None),
        }
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        let real = self.resolved(path, false)?;
        match self.place(&real)? {
            Place::Disk(path) => Disk.read_link(&path),
            Place::Tree(Node::Link(object)) => self.target(&real, object),
            Place::Tree(_) | Place::Bytes(_) => Err(path_error(PathProblem::NotALink)),
        }
    }

    fn entries(&self, path: &Path) -> io::Result<Vec<io::Result<Entry>>> {
        let below = path.strip_prefix(&self.root);
        match (self.place(path)?, below) {
            (Place::Tree(Node::Unread(reason)), _) => Err(io::Error::other(reason.clone())),
            (Place::Tree(Node::Folder), Ok(below)) => self.entries_of(path, below),
            (Place::Disk(disk), Ok(below)) if self.prefers_disk && disk == path => {
                self.entries_of(path, below)
            }
            (Place::Disk(path), _) => Disk.entries(&path),
            (Place::Tree(_) | Place::Bytes(_), _) => Err(path_error(PathProblem::NotAFolder)),
        }
    }

    fn open_file(&self, path: &Path) -> io::Result<OpenFile> {
        self.open_at(path)
    }

    fn is_tracked(&self, path: &Path) -> bool {
        !self.prefers_disk && path.starts_with(&self.root)
    }

    fn open_following(&self, path: &Path) -> io::Result<OpenFile> {
        let real = self.resolved(path, true)?;
        match self.place(&real)? {
            Place::Disk(path) => Disk.open_following(&path),
            Place::Tree(_) | Place::Bytes(_) => self.open_at(&real),
        }
    }
}
