//! Runs git so that it neither writes, nor uses the network, nor runs other programs, and reads what it prints.
//!
//! Paths of git are bytes with `/`.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{io, thread};

use super::error::{GitError, LISTED_PATHS};

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
}
