//! A repository, the names of its revisions, and its default branch.
//!
//! The files of the index, those with a flag that hides their changes from git, and what was read of a repository.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::{HashMap, HashSet};

use super::command::{Git, is_valid, path_of, text};
use super::error::GitError;
use super::location::{Location, entries_at, roots, stored_at};
use super::tree::{Blobs, GITLINK, Listed, list};
use crate::filesystem::canonical;

/// A repository that git trusts.
#[derive(Clone, Debug)]
pub struct Repository {
    pub(super) git: Git,
    /// The resolved root of the working tree; for a bare repository, its folder.
    pub(super) root: PathBuf,
    /// The resolved folder of git that belongs to this working tree.
    pub(super) own: PathBuf,
    /// The resolved folder of git that all working trees share.
    pub(super) common: PathBuf,
    pub(super) is_bare: bool,
    /// What was read so far.
    pub(super) known: Arc<Known>,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The name by which the user knows it.
    pub name: String,
    /// The full hash.
    pub hash: String,
    /// The start of the hash, for messages.
    pub short: String,
}

/// The name of the commit that is checked out.
pub const HEAD: &str = "HEAD";

/// The number of digits of a hash in messages. It need not be unique, so git does not have to be run for it.
const SHORT: usize = 10;

impl Commit {
    /// Creates a commit with a name and the full hash that git prints.
    pub(super) fn new(name: &str, hash: String) -> Self {
        Self {
            name: name.to_owned(),
            short: hash.chars().take(SHORT).collect(),
            hash,
        }
    }
}

impl Repository {
    /// Finds the repository of a path, which may be a file, and need not exist. No folder that a commit can contain is used
    /// as a repository, unless no folder above it contains `.git`. The handle keeps what is read of
    /// commits and of the flags of the index.
    ///
    /// # Errors
    /// Git is not installed, the path is not in a repository, or git does not trust it.
    pub fn discover(path: &Path) -> Result<Self, GitError> {
        let folder = path.ancestors().find(|above| above.is_dir());
        let folder = folder.ok_or_else(|| GitError::NotARepository(path.to_path_buf()))?;
        let found = Location::of(folder)?;
        let git = found.git();
        let root = match (found.root, found.is_bare) {
            (Some(root), _) => root,
            (None, true) => found.own.clone(),
            (None, false) => return Err(GitError::InsideGitFolder(path.to_path_buf())),
        };
        Ok(Self {
            known: Arc::new(Known::new(&git)),
            git,
            root,
            own: found.own,
            common: found.common,
            is_bare: found.is_bare,
        })
    }

    /// Ends the program that reads objects. It is started again if more are read.
    pub fn end(&self) {
        self.known.blobs.end();
    }

    /// Returns the resolved root of the working tree; for a bare repository, its folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns whether this is the repository of a folder.
    #[must_use]
    pub fn is_nearest_to(&self, folder: &Path) -> bool {
        let folder = canonical(folder).unwrap_or_default();
        roots(&folder).next().unwrap_or(&folder) == self.root
    }

    /// Returns the resolved paths from which git reads: the working tree, the folders of git, the names of revisions, and
    /// the objects, also those of other repositories that this one borrows.
    #[must_use]
    pub fn locations(&self) -> Vec<PathBuf> {
        let folders = [&self.root, &self.own, &self.common].into_iter().cloned();
        folders.chain(stored_at(&self.common)).collect()
    }

    /// Returns the root of the working tree around this one whose index records this repository as a submodule.
    #[must_use]
    pub fn superproject(&self) -> Option<&Path> {
        let mut outer = self.root.parent().into_iter().flat_map(roots);
        outer.find(|outer| {
            let below = self.root.strip_prefix(outer).unwrap_or(&self.root);
            let entries = entries_at(outer, below).unwrap_or_default();
            entries.starts_with(GITLINK.as_bytes())
        })
    }

    /// Returns whether the repository has no working tree.
    #[must_use]
    pub const fn is_bare(&self) -> bool {
        self.is_bare
    }

    /// Returns the commit that a revision names.
    ///
    /// # Errors
    /// The revision is not a commit of the repository.
    pub fn resolve(&self, revision: &str) -> Result<Commit, GitError> {
        self.find_commit(revision)?
            .ok_or_else(|| self.unknown(revision))
    }

    /// Returns the commit that a revision names; `None` if it is not known.
    pub(super) fn find_commit(&self, revision: &str) -> Result<Option<Commit>, GitError> {
        if !is_name(revision) {
            return Ok(None);
        }
        let peeled = format!("{revision}^{{commit}}");
        if !revision.contains('\n')
            && let Ok(found) = self.known.blobs.find(&peeled)
        {
            return Ok(found.map(|found| Commit::new(revision, found.object)));
        }
        let arguments = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &peeled,
        ];
        let output = self.git.output(&arguments)?;
        if !output.status.success() {
            return Ok(None);
        }
        Ok(Some(Commit::new(revision, text(&output.stdout))))
    }

    /// Returns the error for a revision that is not known.
    fn unknown(&self, revision: &str) -> GitError {
        if !self.has_commits() {
            return GitError::NoCommits;
        }
        if is_name(revision) && self.is_shallow() {
            return GitError::ShallowRevision(revision.to_owned());
        }
        GitError::UnknownRevision(revision.to_owned(), self.ambiguity(revision))
    }

    /// Returns the message of git about an ambiguous start of a hash; empty for other revisions.
    fn ambiguity(&self, revision: &str) -> String {
        if !is_name(revision) {
            return "it is empty, starts with `-` or contains a zero byte".to_owned();
        }
        let output = self
            .git
            .output(&["rev-parse", "--verify", "--end-of-options", revision]);
        let message = output
            .map(|output| text(&output.stderr))
            .unwrap_or_default();
        let first = message.lines().next().unwrap_or_default();
        let is_ambiguous = first.contains("ambiguous");
        if is_ambiguous {
            first.trim_start_matches("error: ").to_owned()
        } else {
            String::new()
        }
    }

    /// Returns whether a reference or `HEAD` leads to a commit.
    fn has_commits(&self) -> bool {
        let listings: [&[&str]; 2] = [
            &["rev-list", "--max-count=1", HEAD],
            &["rev-list", "--max-count=1", "--all"],
        ];
        let lists = |arguments: &&[&str]| {
            let output = self.git.output(arguments);
            output.is_ok_and(|output| !output.stdout.is_empty())
        };
        listings.iter().any(lists)
    }

    /// Returns whether a checkout contains links. Where the file system has none, git writes files with their targets.
    pub(super) fn has_links(&self) -> Result<bool, GitError> {
        let setting = ["config", "--type=bool", "--get", "core.symlinks"];
        let found = self.git.find(&setting)?;
        Ok(found.is_none_or(|found| text(&found) != "false"))
    }

    pub(super) fn is_shallow(&self) -> bool {
        let output = self.git.run(&["rev-parse", "--is-shallow-repository"]);
        output.is_ok_and(|output| text(&output) == "true")
    }

    /// Returns the best common ancestor of two commits.
    ///
    /// # Errors
    /// The commits have no common ancestor, or it is not in the history of a shallow clone.
    pub fn merge_base(&self, one: &Commit, other: &Commit) -> Result<Commit, GitError> {
        let name = format!("merge base of {} and {}", one.name, other.name);
        // A pull request is often checked out as a merge with its base. This saves a process.
        if one.hash == other.hash || self.is_parent(other, one) {
            return Ok(Commit::new(&name, other.hash.clone()));
        }
        let found = self.git.find(&["merge-base", &one.hash, &other.hash])?;
        let names = || (one.name.clone(), other.name.clone());
        let hash = match found.as_deref().map(text) {
            Some(hash) if !hash.is_empty() => hash,
            _ if self.is_shallow() => {
                let (one, other) = names();
                return Err(GitError::ShallowMergeBase(one, other));
            }
            _ => {
                let (one, other) = names();
                return Err(GitError::NoMergeBase(one, other));
            }
        };
        Ok(Commit::new(&name, hash))
    }

    /// Returns whether a commit is recorded as a parent of another one.
    fn is_parent(&self, parent: &Commit, child: &Commit) -> bool {
        let found = self.known.blobs.find(&child.hash).ok().flatten();
        let content = found.map(|found| found.bytes).unwrap_or_default();
        // Source: git 2.47, `Documentation/user-manual.txt` ("Commit Object"). An empty line ends the header.
        let lines = content.split(|byte| *byte == b'\n');
        let mut header = lines.take_while(|line| !line.is_empty());
        header.any(|line| line.strip_prefix(b"parent ") == Some(parent.hash.as_bytes()))
    }
}

/// Returns whether a text can be passed to git as the name of a revision.
fn is_name(revision: &str) -> bool {
    !revision.is_empty() && !revision.starts_with('-') && !revision.contains('\0')
}

impl Repository {
    /// Returns the merge base of `HEAD` and the default branch of a remote: that of `origin`, else `origin/main` or
    /// `origin/master`, else those of the only remote, else the upstream of the current branch.
    ///
    /// # Errors
    /// The remote has no such branch, or the histories are not related.
    pub fn default_base(&self) -> Result<Commit, GitError> {
        self.default_base_of(&self.head()?)
    }

    /// Returns the commit that is checked out.
    ///
    /// # Errors
    /// The repository has no commit.
    pub fn head(&self) -> Result<Commit, GitError> {
        self.resolve("HEAD")
    }

    /// Returns the merge base of a commit and the one that is checked out. If it is one of them, it has that name.
    ///
    /// # Errors
    /// The repository has no commit, or the histories are not related.
    pub fn base_with_head(&self, commit: &Commit) -> Result<Commit, GitError> {
        let head = self.head()?;
        let base = self.merge_base(&head, commit)?;
        Ok(named_like(base, &[commit, &head]))
    }

    /// Returns the merge base of a commit and the default branch of a remote, as [`Repository::default_base`] does. If it
    /// is one of them, it has that name.
    ///
    /// # Errors
    /// The remote has no such branch, or the histories are not related.
    pub fn default_base_of(&self, commit: &Commit) -> Result<Commit, GitError> {
        let branch = default_branch(self)?;
        let base = self.merge_base(commit, &branch)?;
        Ok(named_like(base, &[commit, &branch]))
    }
}

/// Returns the first of `commits` that is the same commit as `base`, or else `base`.
fn named_like(base: Commit, commits: &[&Commit]) -> Commit {
    let mut commits = commits.iter();
    let same = commits.find(|commit| commit.hash == base.hash);
    same.map_or(base, |commit| (*commit).clone())
}

/// Returns the default branch of `origin`, else of the only remote, else the upstream of the current branch.
fn default_branch(repository: &Repository) -> Result<Commit, GitError> {
    let remotes = text(&repository.git.run(&["remote"])?);
    let only = match remotes.lines().collect::<Vec<_>>().as_slice() {
        [only] if *only != "origin" => Some((*only).to_owned()),
        _ => None,
    };
    for remote in std::iter::once("origin".to_owned()).chain(only) {
        for branch in ["HEAD", "main", "master"] {
            let reference = format!("refs/remotes/{remote}/{branch}");
            if let Some(commit) = repository.find_commit(&reference)? {
                let name = name_of(repository, &reference);
                return Ok(Commit { name, ..commit });
            }
        }
    }
    if let Some(upstream) = repository.find_commit("HEAD@{upstream}")? {
        let name = name_of(repository, "HEAD@{upstream}");
        return Ok(Commit { name, ..upstream });
    }
    Err(GitError::NoDefaultBranch {
        is_shallow: repository.is_shallow(),
    })
}

/// Returns the name of the branch to which a reference leads, such as `origin/main`.
fn name_of(repository: &Repository, reference: &str) -> String {
    let output = repository
        .git
        .run(&["rev-parse", "--abbrev-ref", reference]);
    let name = output.map(|output| text(&output)).unwrap_or_default();
    if name.is_empty() {
        reference.to_owned()
    } else {
        name
    }
}

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
