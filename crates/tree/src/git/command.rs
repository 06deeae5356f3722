//! Runs git so that it neither writes, nor uses the network, nor runs other programs, and reads what it prints.
//!
//! Paths of git are bytes with `/`.
//!
//! Reasons why a revision cannot be read.
//!
//! The folders of a repository, and where it stores what git reads.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{fmt, io, thread};

use crate::filesystem::{FileSystem, canonical};

/// Settings that override those of the repository and of the user.
const SETTINGS: [&str; 10] = [
    // A folder of the tree can look like a bare repository, with settings that the tree contains.
    "safe.bareRepository=explicit",
    // A setting may name a program.
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    // A changed file must not count as unchanged.
    "core.checkStat=default",
    "core.trustctime=true",
    "core.untrackedCache=false",
    "core.ignoreStat=false",
    "protocol.allow=never",
    "submodule.recurse=false",
    // `GIT_GRAFT_FILE` would cause a hint.
    "advice.graftFileDeprecated=false",
];

/// Variables that override the settings of the user, or prevent that a command writes, waits or uses the network, or that
/// the repository replaces an object by another one.
const VARIABLES: [(&str, &str); 8] = [
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_GRAFT_FILE", "/dev/null"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
    ("LANGUAGE", "C"),
];

/// Variables that would select another repository than that of the path, or change the meaning of arguments.
const REMOVED: [&str; 13] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

/// Maximum number of paths that a command may list.
const LISTED_PATHS: usize = 500_000;

/// Maximum length in bytes of what a command may print.
const LISTING_SIZE: usize = 128 << 20;

/// Maximum length in bytes of the messages of a command that are read.
const MESSAGES: u64 = 64 << 10;

/// The command `git` in a folder.
#[derive(Clone, Debug)]
pub(super) struct Git {
    folder: PathBuf,
    /// Whether the folder is used as the folder of git, without a search for it.
    is_git_folder: bool,
    /// Whether the index that the environment names is used.
    pub(super) keeps_index: bool,
    /// More settings, as `KEY=VALUE`.
    settings: Vec<String>,
}

impl Git {
    /// Creates the command in a folder that contains `.git`, where git does not search for a repository. Only
    /// [`super::location`] may decide that a folder is the root of a repository.
    pub(super) fn at_root(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            is_git_folder: false,
            keeps_index: true,
            settings: Vec::new(),
        }
    }

    /// Creates the command for a folder of git that is known to be one: inside of that of a repository which git trusts, or
    /// a bare repository.
    pub(super) fn in_git_folder(folder: &Path) -> Self {
        Self {
            is_git_folder: true,
            keeps_index: false,
            ..Self::at_root(folder)
        }
    }

    /// Returns the command with more settings.
    pub(super) fn with_settings(&self, settings: Vec<String>) -> Self {
        Self {
            settings,
            ..self.clone()
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the command with arguments, which is not started.
    pub(super) fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new("git");
        command.args(["--no-pager", "--literal-pathspecs"]);
        let settings = SETTINGS.into_iter();
        for setting in settings.chain(self.settings.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        for variable in REMOVED {
            command.env_remove(variable);
        }
        if !self.keeps_index {
            command.env_remove("GIT_INDEX_FILE");
        }
        command.envs(VARIABLES);
        if self.is_git_folder {
            // The settings of a submodule may name a working tree that does not exist.
            command.args(["--git-dir=.", "--work-tree=."]);
        }
        command
            .args(arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command, and returns its output, whether or not it succeeds.
    ///
    /// # Errors
    /// Git cannot be started, or prints more than the limits.
    pub(super) fn output<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Output, GitError> {
        let failed = |error: io::Error| start_error(&error);
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
        let messages = child.stderr.take().and_then(|mut pipe| {
            let read = move || {
                let mut messages = Vec::new();
                let _ = pipe.by_ref().take(MESSAGES).read_to_end(&mut messages);
                let _ = io::copy(&mut pipe, &mut io::sink());
                messages
            };
            thread::Builder::new().spawn(read).ok()
        });
        let mut stdout = Vec::new();
        let is_whole = match child.stdout.take() {
            Some(pipe) => read_listing(pipe, most_ends(arguments), &mut stdout).map_err(failed)?,
            None => true,
        };
        if !is_whole {
            let _ = child.kill();
        }
        let status = child.wait().map_err(failed)?;
        if !is_whole {
            return Err(GitError::TooManyPaths);
        }
        let stderr = messages.and_then(|messages| messages.join().ok());
        Ok(Output {
            status,
            stdout,
            stderr: stderr.unwrap_or_default(),
        })
    }

    /// Runs a command, and returns what it prints.
    pub(super) fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Vec<u8>, GitError> {
        let output = self.output(arguments)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(self.failure(arguments, &output))
    }

    /// Runs a command, and returns what it prints; `None` if it ends with 1, which means that nothing was found.
    pub(super) fn find<S: AsRef<OsStr>>(
        &self,
        arguments: &[S],
    ) -> Result<Option<Vec<u8>>, GitError> {
        let output = self.output(arguments)?;
        match output.status.code() {
            Some(0) => Ok(Some(output.stdout)),
            Some(1) => Ok(None),
            _ => Err(self.failure(arguments, &output)),
        }
    }

    /// Returns the error of a failed command.
    pub(super) fn failure<S: AsRef<OsStr>>(&self, arguments: &[S], output: &Output) -> GitError {
        let message = text(&output.stderr);
        // A path with a final slash would not be equal to one in `safe.directory`.
        let folder = || self.folder.components().as_path().to_path_buf();
        if message.contains("dubious ownership") {
            return GitError::DubiousOwnership(folder());
        }
        if message.contains("not a git repository") {
            return GitError::NotARepository(folder());
        }
        let words: Vec<OsString> = arguments.iter().map(Into::into).collect();
        let command = words
            .iter()
            .map(|word| word.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ");
        GitError::Failed(command, summary(&message))
    }
}

/// Returns the maximum number of NULs that a command may print.
fn most_ends<S: AsRef<OsStr>>(arguments: &[S]) -> usize {
    let has = |word: &str| arguments.iter().any(|argument| argument.as_ref() == word);
    if has("ls-files") {
        // The index has as many entries as the working tree: objects cannot multiply them.
        usize::MAX
    } else if has("--raw") {
        // One more follows the description of each path.
        2 * LISTED_PATHS
    } else {
        LISTED_PATHS
    }
}

/// Reads what git prints, and returns whether it is within the limits.
fn read_listing(pipe: impl io::Read, most: usize, listing: &mut Vec<u8>) -> io::Result<bool> {
    let mut pipe = BufReader::with_capacity(1 << 16, pipe);
    let mut ends = 0;
    loop {
        let chunk = pipe.fill_buf()?;
        let length = chunk.len();
        if length == 0 {
            return Ok(true);
        }
        ends += memchr::memchr_iter(0, chunk).count();
        listing.extend_from_slice(chunk);
        pipe.consume(length);
        if ends > most || listing.len() > LISTING_SIZE {
            return Ok(false);
        }
    }
}

/// Returns the error for a command that cannot be started.
pub(super) fn start_error(error: &io::Error) -> GitError {
    match error.kind() {
        io::ErrorKind::NotFound => GitError::NotInstalled,
        _ => GitError::Failed("…".to_owned(), error.to_string()),
    }
}

/// Returns the message of git without its prefix, on one line.
pub(super) fn summary(message: &str) -> String {
    let lines = message
        .lines()
        .map(|line| {
            line.trim()
                .trim_start_matches("fatal: ")
                .trim_start_matches("error: ")
        })
        .filter(|line| !line.is_empty() && !line.starts_with("hint:"));
    let words: Vec<&str> = lines.collect();
    if words.is_empty() {
        "it printed no message".to_owned()
    } else {
        words.join("; ")
    }
}

/// Returns the path for the bytes that git prints.
#[cfg(unix)]
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    std::ffi::OsStr::from_bytes(bytes).into()
}

/// Returns the path for the bytes that git prints.
#[cfg(not(unix))]
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// Returns whether git would check out a path: it is relative, without `..`, and without a folder `.git`.
/// Source: git 2.47, `read-cache.c`, `verify_path`.
pub(super) fn is_valid(path: &Path) -> bool {
    let is_normal = |part: Component<'_>| match part {
        Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
        _ => false,
    };
    path.components().next().is_some() && path.components().all(is_normal)
}

/// Returns the text that git printed, without white space at its end.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

/// Reason why a revision cannot be read. [`fmt::Display`] names it; [`GitError::help`] names what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitError {
    /// `git` is not installed.
    NotInstalled,
    /// A path is not in a repository.
    NotARepository(PathBuf),
    /// A path is in a folder of git, such as `.git`.
    InsideGitFolder(PathBuf),
    /// A folder of git is in the working tree of another repository, whose commits may contain it.
    InsideWorkingTree(PathBuf, PathBuf),
    /// The repository belongs to another user, so git does not trust it.
    DubiousOwnership(PathBuf),
    /// The repository has no commit.
    NoCommits,
    /// A revision does not exist; with the message of git.
    UnknownRevision(String, String),
    /// A revision is not in the history of a shallow clone.
    ShallowRevision(String),
    /// Two revisions have no merge base in the history of a shallow clone.
    ShallowMergeBase(String, String),
    /// Two revisions have no merge base.
    NoMergeBase(String, String),
    /// The default branch of a remote cannot be determined.
    NoDefaultBranch {
        /// Whether the clone is shallow.
        is_shallow: bool,
    },
    /// An object is not stored in the repository.
    MissingObject {
        /// The name of the object, or the message of git.
        object: String,
        /// Whether the clone leaves out objects.
        is_partial: bool,
    },
    /// A revision or a difference has more paths than the limit.
    TooManyPaths,
    /// Git would not check out a path of a revision.
    InvalidPath(String),
    /// The index contains a merge conflict in this file.
    Unmerged(String),
    /// The output of git is not as documented.
    UnexpectedOutput(String),
    /// A command of git failed: the command, and the message of git.
    Failed(String, String),
}

impl fmt::Display for GitError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInstalled => formatter.write_str("`git` is not on the PATH"),
            Self::NotARepository(path) => {
                write!(formatter, "`{}` is not in a git repository", path.display())
            }
            Self::InsideGitFolder(path) => {
                write!(
                    formatter,
                    "`{}` is in a folder of git, not in a working tree",
                    path.display()
                )
            }
            Self::InsideWorkingTree(path, root) => write!(
                formatter,
                "the folder of git `{}` is in the working tree of `{}`",
                path.display(),
                root.display()
            ),
            Self::DubiousOwnership(path) => write!(
                formatter,
                "git does not read the repository of `{}`, because it belongs to another user",
                path.display()
            ),
            Self::NoCommits => formatter.write_str("the repository has no commit"),
            Self::UnknownRevision(name, message) if message.is_empty() => {
                write!(formatter, "unknown revision `{name}`")
            }
            Self::UnknownRevision(name, message) => {
                write!(formatter, "unknown revision `{name}`: {message}")
            }
            Self::ShallowRevision(name) => {
                write!(formatter, "revision `{name}` is not in this shallow clone")
            }
            Self::ShallowMergeBase(one, other) => write!(
                formatter,
                "`{one}` and `{other}` have no merge base in this shallow clone"
            ),
            Self::NoMergeBase(one, other) => {
                write!(
                    formatter,
                    "`{one}` and `{other}` have no merge base: their histories are unrelated"
                )
            }
            Self::NoDefaultBranch { .. } => {
                formatter.write_str("the default branch of a remote cannot be determined")
            }
            Self::MissingObject { object, .. } => {
                write!(
                    formatter,
                    "object `{object}` is not stored in the repository"
                )
            }
            Self::TooManyPaths => {
                write!(formatter, "git lists more than {LISTED_PATHS} paths")
            }
            Self::InvalidPath(path) => {
                write!(
                    formatter,
                    "the revision contains the path `{path}`, which git does not check out"
                )
            }
            Self::Unmerged(path) => {
                write!(formatter, "the index contains a merge conflict in `{path}`")
            }
            Self::UnexpectedOutput(command) => {
                write!(
                    formatter,
                    "the output of `git {command}` is not as documented"
                )
            }
            Self::Failed(command, message) => {
                write!(formatter, "`git {command}` failed: {message}")
            }
        }
    }
}

impl std::error::Error for GitError {}

impl GitError {
    /// Returns what the user can do.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        const DEEPEN: &str = "or the whole history with `git fetch --unshallow`";
        Some(match self {
            Self::NotInstalled => "install git; it reads the revisions".to_owned(),
            Self::NotARepository(_) | Self::InsideGitFolder(_) => {
                "run the command in the working tree of a repository, or compare two paths: `meshprobe diff BEFORE AFTER`"
                    .to_owned()
            }
            Self::InsideWorkingTree(..) => {
                "a commit of the outer repository may contain it, so it is not used; move it out of the working tree".to_owned()
            }
            Self::DubiousOwnership(path) => format!(
                "if you trust it, run `git config --global --add safe.directory {}`",
                path.display()
            ),
            Self::NoCommits => "commit the files first".to_owned(),
            Self::UnknownRevision(..) => {
                "name a branch, a tag or a commit of this repository; fetch it if it is only on a remote".to_owned()
            }
            Self::ShallowRevision(name) => format!("{}, {DEEPEN}", fetch_of(name)),
            Self::ShallowMergeBase(..) => format!("{MORE}, {DEEPEN}"),
            Self::NoMergeBase(..) => "name the revision to compare with".to_owned(),
            Self::NoDefaultBranch { is_shallow: false } => {
                "name the revision to compare with, such as `--since HEAD` for the last commit, or set the default branch with \
                 `git remote set-head origin --auto`"
                    .to_owned()
            }
            Self::NoDefaultBranch { is_shallow: true } => format!(
                "fetch the base branch, for example with `git fetch origin main`, {DEEPEN}, and name the revision"
            ),
            Self::MissingObject { is_partial: true, .. } => {
                "this is a partial clone: fetch all objects with `git fetch --refetch --no-filter`".to_owned()
            }
            Self::MissingObject { .. } => "check the repository with `git fsck`".to_owned(),
            Self::Unmerged(_) => "resolve the conflict, and add the file".to_owned(),
            Self::TooManyPaths => "compare two checkouts of a part: `meshprobe diff BEFORE AFTER`".to_owned(),
            Self::InvalidPath(_) | Self::UnexpectedOutput(_) | Self::Failed(..) => return None,
        })
    }
}

/// What to do if a part of the history is not in a shallow clone.
const MORE: &str = "fetch more of the history with `git fetch --deepen=100`";

/// Returns how to fetch a revision into a shallow clone.
fn fetch_of(name: &str) -> String {
    let is_hash = name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if name.contains(['~', '^', '@', ':', '{']) {
        MORE.to_owned()
    } else if let Some(branch) = name.strip_prefix("origin/") {
        format!("fetch it with `git fetch --depth=1 origin {branch}:refs/remotes/origin/{branch}`")
    } else if is_hash {
        format!("fetch it with `git fetch --depth=1 origin {name}`")
    } else {
        format!("fetch it with `git fetch --depth=1 origin {name}`, and name it `FETCH_HEAD`")
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_are_limited() {
        let is_whole = |listing: &mut dyn io::Read| {
            read_listing(listing, most_ends(&["ls-tree"]), &mut Vec::new()).unwrap()
        };
        assert!(is_whole(&mut &b"a\0b\0"[..]));
        assert!(is_whole(&mut io::repeat(0).take(LISTED_PATHS as u64)));
        assert!(!is_whole(&mut io::repeat(0)));
    }

    #[test]
    fn the_help_fetches_what_is_named() {
        let hash = "0".repeat(40);
        for (name, command) in [
            ("origin/main", "origin main:refs/remotes/origin/main`"),
            ("v1", "origin v1`, and name it `FETCH_HEAD`"),
            (&hash, "--depth=1 origin 0"),
            ("HEAD~3", "--deepen=100`"),
        ] {
            let help = GitError::ShallowRevision(name.to_owned()).help().unwrap();
            assert!(
                help.contains(command) && help.ends_with("--unshallow`"),
                "{help}"
            );
        }
    }
}
