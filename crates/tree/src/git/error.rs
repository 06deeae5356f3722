//! Reasons why a revision cannot be read.

use std::fmt;
use std::path::PathBuf;

/// Maximum number of paths that a command may list.
pub(super) const LISTED_PATHS: usize = 500_000;

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

#[cfg(test)]
mod tests {
    use super::*;

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
