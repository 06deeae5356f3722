//! The files of one run, which answers from the folders that it has listed.
//!
//! A run lists each folder once, and needs to know of many paths whether they exist, are links, and where they lead. The
//! listings answer that without further calls of the system.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use hashbrown::HashMap;

use super::disk::{ReadFiles, path_error};
use super::kind::{LONGEST_NAME, PathProblem, ends_with_slash};
use super::{Entry, FileSystem, Kind, OpenFile};

impl FileSystem {
    /// Returns a view for one run, during which the files do not change.
    #[must_use]
    pub fn for_one_run(&self) -> Self {
        Self::new(ListedFiles {
            files: self.clone(),
            known: RwLock::default(),
        })
    }
}

#[derive(Debug)]
struct ListedFiles {
    files: FileSystem,
    known: RwLock<Known>,
}

/// What the run has found out.
#[derive(Debug, Default)]
struct Known {
    /// The entries of folders, sorted by name, by the resolved path of the folder.
    folders: HashMap<OsString, Vec<Entry>>,
    /// The kinds of paths that no listing contains; `None` if nothing has the path.
    kinds: HashMap<OsString, Option<Kind>>,
    /// The resolved paths of paths that no listing contains.
    resolved: HashMap<OsString, PathBuf>,
}

/// What the listings contain at a path.
enum Found<'p> {
    /// An entry, with its path below the resolved path of its folder. It may be a link.
    Entry(Cow<'p, Path>, Kind),
    Missing,
}

impl Known {
    /// Returns what the listings contain at a path; `None` if only the system can tell.
    fn find<'p>(&self, path: &'p Path) -> Option<Found<'p>> {
        // On Windows, an entry has several names.
        if cfg!(windows) {
            return None;
        }
        let found = match self.folders.get(path.parent()?.as_os_str()) {
            Some(entries) => match kind_in(entries, path.file_name()?)? {
                Some(kind) => Found::Entry(Cow::Borrowed(path), kind),
                None => Found::Missing,
            },
            None => self.follow(path)?,
        };
        let is_folder = matches!(found, Found::Entry(_, Kind::Folder) | Found::Missing);
        (is_folder || !ends_with_slash(path)).then_some(found)
    }

    /// Follows a path from the first folder that was listed.
    fn follow(&self, path: &Path) -> Option<Found<'static>> {
        let mut real = PathBuf::new();
        // The kind of what is at `real`, if that is known to be a resolved path.
        let mut kind = None;
        for part in path.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    kind.filter(|kind| *kind == Kind::Folder)?;
                    real.pop();
                }
                Component::Normal(name) => {
                    let entries = self.folders.get(real.as_os_str());
                    kind = match (entries, kind) {
                        (Some(entries), _) => match kind_in(entries, name)? {
                            Some(kind) => Some(kind),
                            None => return Some(Found::Missing),
                        },
                        (None, None | Some(Kind::Folder)) => None,
                        (None, Some(_)) => return None,
                    };
                    real.push(name);
                    let is_listed = self.folders.contains_key(real.as_os_str());
                    kind = kind.or(is_listed.then_some(Kind::Folder));
                }
                Component::RootDir | Component::Prefix(_) => {
                    real.push(part);
                    let is_listed = self.folders.contains_key(real.as_os_str());
                    kind = is_listed.then_some(Kind::Folder);
                }
            }
        }
        Some(Found::Entry(Cow::Owned(real), kind?))
    }
}

/// Returns the kind of the entry with a name, or `Some(None)` if there is none. Returns `None` if only the system can tell,
/// because it may accept another spelling of the name, or reject the name.
fn kind_in(entries: &[Entry], name: &OsStr) -> Option<Option<Kind>> {
    let found = entries.binary_search_by(|entry| (*entry.name).cmp(name));
    if let Some(entry) = found.ok().and_then(|at| entries.get(at)) {
        return Some(Some(entry.kind));
    }
    let bytes = name.as_encoded_bytes();
    let has_one_spelling = name.is_ascii()
        && bytes.len() <= LONGEST_NAME
        && !bytes.contains(&0)
        && !entries
            .iter()
            .any(|entry| entry.name.eq_ignore_ascii_case(name));
    has_one_spelling.then_some(None)
}

fn missing<T>() -> io::Result<T> {
    Err(path_error(PathProblem::Missing))
}

impl ListedFiles {
    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn(&self, learn: impl FnOnce(&mut Known)) {
        learn(&mut self.known.write().unwrap_or_else(PoisonError::into_inner));
    }

    fn find<'p>(&self, path: &'p Path) -> Option<Found<'p>> {
        self.known().find(path)
    }
}

impl ReadFiles for ListedFiles {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        match self.find(path) {
            Some(Found::Missing) => return missing(),
            // Without a final slash.
            Some(Found::Entry(real, kind)) if kind != Kind::Link => {
                return Ok(real.components().collect());
            }
            _ => {}
        }
        if let Some(real) = self.known().resolved.get(path.as_os_str()) {
            return Ok(real.clone());
        }
        let real = self.files.canonical(path)?;
        self.learn(|known| drop(known.resolved.insert(path.into(), real.clone())));
        Ok(real)
    }

    fn kind(&self, path: &Path) -> io::Result<Kind> {
        match self.find(path) {
            Some(Found::Missing) => return missing(),
            Some(Found::Entry(_, kind)) if kind != Kind::Link => return Ok(kind),
            _ => {}
        }
        if let Some(kind) = self.known().kinds.get(path.as_os_str()) {
            return kind.map_or_else(missing, Ok);
        }
        let kind = self.files.kind(path);
        let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        if kind.as_ref().err().is_none_or(is_missing) {
            let kind = kind.as_ref().ok().copied();
            self.learn(|known| {
                known.kinds.insert(path.into(), kind);
            });
        }
        kind
    }

    fn symlink_kind(&self, path: &Path) -> io::Result<Kind> {
        match self.find(path) {
            Some(Found::Missing) => missing(),
            Some(Found::Entry(_, kind)) => Ok(kind),
            None => self.files.symlink_kind(path),
        }
    }

    fn file_length(&self, path: &Path) -> io::Result<Option<u64>> {
        match self.find(path) {
            Some(Found::Missing) => missing(),
            Some(Found::Entry(_, Kind::Folder)) => Ok(None),
            _ => self.files.file_length(path),
        }
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        match self.find(path) {
            Some(Found::Missing) => missing(),
            Some(Found::Entry(_, kind)) if kind != Kind::Link => {
                Err(path_error(PathProblem::NotALink))
            }
            _ => self.files.read_link(path),
        }
    }

    fn entries(&self, path: &Path) -> io::Result<Vec<io::Result<Entry>>> {
        // Without a final slash.
        let folder: PathBuf = path.components().collect();
        if let Some(known) = self.known().folders.get(folder.as_os_str()) {
            return Ok(known.iter().cloned().map(Ok).collect());
        }
        let entries = self.files.entries(path)?;
        if entries.iter().all(Result::is_ok) {
            let mut sorted: Vec<Entry> = entries.iter().flatten().cloned().collect();
            sorted.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            self.learn(|known| drop(known.folders.insert(folder.into(), sorted)));
        }
        Ok(entries)
    }

    /// Opens a file without a check of its kind, if its folder was listed.
    fn open_file(&self, path: &Path) -> io::Result<OpenFile> {
        match self.find(path) {
            Some(Found::Missing) => missing(),
            Some(Found::Entry(_, Kind::File)) => self.files.open_listed(path),
            _ => self.files.open_file(path),
        }
    }

    fn is_tracked(&self, path: &Path) -> bool {
        self.files.is_tracked(path)
    }

    fn open_following(&self, path: &Path) -> io::Result<OpenFile> {
        self.files.open_following(path)
    }
}
