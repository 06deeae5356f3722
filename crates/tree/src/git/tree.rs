//! The paths of a revision: their listing by `git ls-tree`, and the output of `git diff-tree` and `git diff-index` with `--raw -z`.
//!
//! Source: git 2.47, `Documentation/diff-format.txt` ("Raw output format").

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use super::blobs::Blobs;
use super::command::{Git, is_valid, path_of};
use super::error::GitError;
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

/// Options of a diff: no renames, no programs, and full names of objects. Submodules are compared by their commits, in a
/// working tree by those that are checked out, without running git in each of them.
///
/// Source: git 2.47, `Documentation/diff-options.txt`; `diff-lib.c`, `match_stat_with_submodule`.
pub(super) const OPTIONS: [&str; 9] = [
    "-r",
    "-z",
    "--raw",
    "--no-renames",
    "--no-abbrev",
    "--no-ext-diff",
    "--no-textconv",
    "--no-relative",
    "--ignore-submodules=dirty",
];

/// Option for the index: a file that is only announced (`git add -N`) does not exist.
pub(super) const ANNOUNCED_IS_ABSENT: &str = "--ita-invisible-in-index";

/// A path that differs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) path: PathBuf,
    /// What the first side has.
    pub(super) before: Side,
    /// What the second side has. For a file of the working tree, the name of its object is not known.
    pub(super) after: Side,
    pub(super) is_unmerged: bool,
}

/// A path on one side of a difference.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Side {
    /// Empty if the path does not exist there.
    pub(super) mode: String,
    /// The name of the object.
    pub(super) object: String,
}

impl Side {
    fn new(mode: &str, object: &str) -> Self {
        let is_absent = mode == "000000";
        Self {
            mode: if is_absent { "" } else { mode }.to_owned(),
            object: object.to_owned(),
        }
    }
}

/// Parses the output of a diff.
pub(super) fn parse_differences(output: &[u8]) -> Result<Vec<Difference>, GitError> {
    let unexpected = || GitError::UnexpectedOutput("diff --raw".to_owned());
    let mut parts = output.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let Some(header) = parts.next().filter(|header| !header.is_empty()) {
        let header = str::from_utf8(header).map_err(|_| unexpected())?;
        let words: Vec<&str> = header.trim_start_matches(':').split(' ').collect();
        let [old_mode, mode, old_object, object, status] = words.as_slice() else {
            return Err(unexpected());
        };
        let path = parts.next().filter(|path| !path.is_empty());
        let path = path.ok_or_else(unexpected)?;
        found.push(Difference {
            path: path_of(path),
            before: Side::new(old_mode, old_object),
            after: Side::new(mode, object),
            is_unmerged: status.starts_with('U'),
        });
    }
    Ok(found)
}

/// Returns the listing of one side of a diff, given that of the other side.
///
/// # Errors
/// Git would not check out a path.
pub(super) fn patched(
    other: &[Listed],
    differences: &[Difference],
    side: impl Fn(&Difference) -> &Side,
) -> Result<Vec<Listed>, GitError> {
    let paths = differences.iter().map(|difference| &*difference.path);
    let differing: HashSet<&Path> = paths.collect();
    let mut listed: Vec<Listed> = other
        .iter()
        .filter(|listed| !differing.contains(&*listed.path))
        .cloned()
        .collect();
    for difference in differences {
        let (path, side) = (&difference.path, side(difference));
        if side.mode.is_empty() {
            continue;
        }
        if !is_valid(path) {
            return Err(GitError::InvalidPath(path.display().to_string()));
        }
        listed.push(Listed {
            path: path.clone(),
            mode: side.mode.clone(),
            object: side.object.clone(),
        });
    }
    listed.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(listed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::tree::Listed;
    use std::path::Path;

    fn side(mode: &str, object: &str) -> Side {
        Side {
            mode: mode.to_owned(),
            object: object.to_owned(),
        }
    }

    #[test]
    fn one_side_follows_from_the_other() {
        let listed = |path: &str, object: &str| Listed {
            path: path.into(),
            mode: "100644".to_owned(),
            object: object.to_owned(),
        };
        let differences = parse_differences(
            b":100644 100644 a1 a2 M\0a\0:100644 000000 b1 0 D\0b\0:000000 100644 0 c2 A\0c\0",
        )
        .unwrap();
        let before = [listed("a", "a1"), listed("b", "b1"), listed("d", "d1")];
        let after = [listed("a", "a2"), listed("c", "c2"), listed("d", "d1")];
        let new = patched(&before, &differences, |found: &Difference| &found.after).unwrap();
        let old = patched(&after, &differences, |found: &Difference| &found.before).unwrap();
        assert_eq!(format!("{new:?} {old:?}"), format!("{after:?} {before:?}"));
        let invalid = parse_differences(b":000000 100644 0 c2 A\0.git/x\0").unwrap();
        assert!(patched(&before, &invalid, |found: &Difference| &found.after).is_err());
    }

    #[test]
    fn differences_are_parsed() {
        let output = b":100644 000000 aa 00 D\0a b\0:000000 120000 00 bb A\0c/d\n\0:0 0 0 0 U\0e\0";
        let found = parse_differences(output).unwrap();
        let paths: Vec<&Path> = found.iter().map(|one| one.path.as_path()).collect();
        assert_eq!(
            paths,
            [Path::new("a b"), Path::new("c/d\n"), Path::new("e")]
        );
        assert_eq!(
            (&found[0].after, &found[0].before),
            (&side("", "00"), &side("100644", "aa"))
        );
        assert_eq!(
            (&found[1].after, &found[1].before),
            (&side("120000", "bb"), &side("", "00"))
        );
        assert!(found[2].is_unmerged && !found[1].is_unmerged);
        assert!(
            parse_differences(b":1 2 3\0a\0").is_err()
                && parse_differences(b":1 2 3 4 M\0").is_err()
        );
        assert_eq!(parse_differences(b"").unwrap(), []);
    }
}
