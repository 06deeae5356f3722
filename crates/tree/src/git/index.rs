//! The files of the index, those with a flag that hides their changes from git, and what was read of a repository.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::{HashMap, HashSet};

use super::blobs::Blobs;
use super::command::{Git, is_valid, path_of};
use super::error::GitError;
use super::location::Location;
use super::tree::{Listed, list};

/// A file with a flag that hides its changes from git.
#[derive(Debug)]
pub(super) struct Flagged {
    pub(super) listed: Listed,
    /// Whether git assumes that it does not exist on disk, as in a sparse checkout.
    pub(super) is_skipped: bool,
}

/// The files of the index.
#[derive(Debug)]
pub(super) struct Index {
    /// The listing of git.
    output: Vec<u8>,
    /// The files with a flag.
    pub(super) flagged: Vec<Flagged>,
}

/// A file of the index.
struct Entry<'i> {
    /// Lower-case if the file is assumed to be unchanged, `S` if a sparse checkout leaves it out.
    tag: u8,
    mode: &'i str,
    object: &'i str,
    path: &'i [u8],
}

impl Index {
    /// Lists the files of the index.
    pub(super) fn list(git: &Git) -> Result<Self, GitError> {
        let output = git.run(&["ls-files", "-v", "-s", "-z", "--full-name"])?;
        let has_flag = |line: &&[u8]| {
            let tag = line.first().copied().unwrap_or_default();
            tag.is_ascii_lowercase() || tag == b'S'
        };
        let flagged = lines(&output).filter(has_flag).map(|line| {
            let entry = parse(line)?;
            Ok(Flagged {
                listed: entry.listed()?,
                is_skipped: entry.tag.eq_ignore_ascii_case(&b'S'),
            })
        });
        let flagged = flagged.collect::<Result<_, GitError>>()?;
        Ok(Self { output, flagged })
    }

    /// Iterates over all paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = Result<PathBuf, GitError>> {
        lines(&self.output).map(|line| Ok(path_of(parse(line)?.path)))
    }
}

fn lines(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = output.split(|byte| *byte == 0);
    lines.filter(|line| !line.is_empty())
}

/// Parses `TAG MODE OBJECT STAGE<tab>PATH`.
fn parse(line: &[u8]) -> Result<Entry<'_>, GitError> {
    let unexpected = || GitError::UnexpectedOutput("ls-files".to_owned());
    let tag = line.first().copied().ok_or_else(unexpected)?;
    let tab = line.iter().position(|byte| *byte == b'\t');
    let (header, path) = line
        .split_at_checked(tab.ok_or_else(unexpected)?)
        .ok_or_else(unexpected)?;
    let header = str::from_utf8(header).map_err(|_| unexpected())?;
    let mut words = header.split(' ');
    let mut next = || words.next().ok_or_else(unexpected);
    let (_, mode, object) = (next()?, next()?, next()?);
    Ok(Entry {
        tag,
        mode,
        object,
        path: path.get(1..).unwrap_or_default(),
    })
}

impl Entry<'_> {
    fn listed(&self) -> Result<Listed, GitError> {
        let path = path_of(self.path);
        if !is_valid(&path) {
            return Err(GitError::InvalidPath(path.display().to_string()));
        }
        Ok(Listed {
            path,
            mode: self.mode.to_owned(),
            object: self.object.to_owned(),
        })
    }
}

/// The paths that git tracks in a working tree, and the folders that contain them.
#[derive(Debug)]
pub struct TrackedPaths {
    /// The resolved root of the working tree.
    root: PathBuf,
    /// Relative to the root.
    paths: HashSet<OsString>,
}

impl TrackedPaths {
    /// Lists the paths that git tracks in the repository of a folder. Returns `None` if the folder is not in a repository.
    ///
    /// # Errors
    /// Git is not installed, does not trust the repository, or cannot list its index.
    pub fn of(folder: &Path) -> Result<Option<Self>, GitError> {
        let Some(found) = Location::around(folder)? else {
            return Ok(None);
        };
        let index = Index::list(&found.git())?;
        let mut paths = HashSet::new();
        for path in index.paths() {
            add_with_folders(&mut paths, path?);
        }
        let root = found.root.ok_or(GitError::InsideGitFolder(found.own))?;
        Ok(Some(Self { root, paths }))
    }

    /// Returns whether git tracks a resolved path, or a file below it.
    #[must_use]
    pub fn contains(&self, path: &Path) -> bool {
        let below = path.strip_prefix(&self.root);
        below.is_ok_and(|below| self.paths.contains(below.as_os_str()))
    }
}

/// Adds a path and the folders that contain it.
pub(super) fn add_with_folders(paths: &mut HashSet<OsString>, path: PathBuf) {
    for above in path.ancestors().skip(1) {
        if !paths.insert(above.as_os_str().into()) {
            break;
        }
    }
    paths.insert(path.into_os_string());
}

/// What was read of a repository.
#[derive(Debug)]
pub(super) struct Known {
    git: Git,
    /// The objects.
    pub(super) blobs: Arc<Blobs>,
    /// The paths of commits, by their hashes.
    listings: Mutex<HashMap<String, Arc<[Listed]>>>,
    index: Mutex<Option<Arc<Index>>>,
}

impl Known {
    pub(super) fn new(git: &Git) -> Self {
        Self {
            git: git.clone(),
            blobs: Arc::new(Blobs::new(git.clone())),
            listings: Mutex::default(),
            index: Mutex::default(),
        }
    }

    /// Returns all files, links and submodules of a commit.
    pub(super) fn listed(&self, commit: &str) -> Result<Arc<[Listed]>, GitError> {
        let mut listings = self.listings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = listings.get(commit) {
            return Ok(Arc::clone(known));
        }
        let listed: Arc<[Listed]> = list(&self.git, commit)?.into();
        listings.insert(commit.to_owned(), Arc::clone(&listed));
        Ok(listed)
    }

    /// Lists the files of the index.
    pub(super) fn index(&self) -> Result<Arc<Index>, GitError> {
        let mut known = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known {
            return Ok(Arc::clone(known));
        }
        let found = Arc::new(Index::list(&self.git)?);
        *known = Some(Arc::clone(&found));
        Ok(found)
    }
}
