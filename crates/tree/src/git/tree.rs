//! The paths of a revision: their listing by `git ls-tree`, and the output of `git diff-tree` and `git diff-index` with `--raw -z`.
//!
//! Source: git 2.47, `Documentation/diff-format.txt` ("Raw output format").
//!
//! The contents of objects of one repository, read on demand by a running `git cat-file`.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::{io, thread};

use hashbrown::{HashMap, HashSet};

use super::command::{Git, is_valid, path_of, start_error};
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
    /// A submodule, whose files are those of the working tree.
    Submodule,
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
            Self::Folder | Self::Submodule => Kind::Folder,
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

    pub(super) fn has_submodules(&self) -> bool {
        let mut nodes = self.nodes.values();
        nodes.any(|node| matches!(node, Node::Submodule))
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

/// A running `git cat-file`.
#[derive(Debug)]
pub(super) struct Batch {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// Answer for an object.
#[derive(Debug)]
pub(super) struct Answer {
    /// The full name of the object.
    pub(super) object: String,
    pub(super) length: u64,
    /// The start of the content, up to the limit of the caller.
    pub(super) bytes: Vec<u8>,
}

impl Answer {
    /// Returns the content; `None` if it is longer than what was read.
    pub(super) fn whole(self) -> Option<Vec<u8>> {
        (self.bytes.len() as u64 == self.length).then_some(self.bytes)
    }
}

impl Batch {
    /// Starts the program.
    pub(super) fn start(git: &Git) -> Result<Self, GitError> {
        let mut child = git
            .command(&["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| start_error(&error))?;
        // The program would wait for a reader of its messages. They are not needed: a missing object has an answer.
        if let Some(mut messages) = child.stderr.take() {
            let drain = move || io::copy(&mut messages, &mut io::sink());
            let _ = thread::Builder::new().spawn(drain);
        }
        let requests = child.stdin.take();
        let answers = child.stdout.take().map(BufReader::new);
        let unstarted = || GitError::UnexpectedOutput("cat-file".to_owned());
        Ok(Self {
            requests,
            answers: answers.ok_or_else(unstarted)?,
            child,
        })
    }

    /// Reads up to `limit` bytes of an object, given by a name of one line. Returns the answer, which is `None` if the object
    /// is not known, and the program, which is `None` if it was ended so that the rest is not read.
    ///
    /// # Errors
    /// The program ended, or its output is not as documented.
    pub(super) fn read(
        mut self,
        name: &str,
        limit: u64,
    ) -> io::Result<(Option<Answer>, Option<Self>)> {
        let requests = self.requests.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        requests.write_all(format!("{name}\n").as_bytes())?;
        requests.flush()?;
        let mut header = String::new();
        self.answers.read_line(&mut header)?;
        let Some((object, length)) = found(&header, name)? else {
            return Ok((None, Some(self)));
        };
        let wanted = usize::try_from(length.min(limit)).map_err(io::Error::other)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(wanted)?;
        bytes.resize(wanted, 0);
        self.answers.read_exact(&mut bytes)?;
        let is_whole = length <= limit;
        if is_whole {
            self.answers.read_exact(&mut [0])?;
        }
        let object = object.to_owned();
        let answer = Answer {
            object,
            length,
            bytes,
        };
        Ok((Some(answer), is_whole.then_some(self)))
    }
}

/// Parses the first line of an answer, `OBJECT TYPE LENGTH`; returns `None` for `NAME missing` and `NAME ambiguous`.
fn found<'h>(header: &'h str, name: &str) -> io::Result<Option<(&'h str, u64)>> {
    let reason = header.strip_prefix(name).map(str::trim);
    if let Some("missing" | "ambiguous") = reason {
        return Ok(None);
    }
    let words: Vec<&str> = header.split_whitespace().collect();
    match words.as_slice() {
        [object, _, length] => Ok(Some((object, length.parse().map_err(io::Error::other)?))),
        _ => Err(io::Error::other("`git cat-file` ended without an answer")),
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // The program ends with its input.
        self.requests = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Maximum length in bytes of an object whose content is read together with its length.
pub(super) const EAGER: u64 = 1 << 20;

/// The contents of objects of one repository, read on demand.
#[derive(Debug)]
pub(super) struct Blobs {
    git: Git,
    running: Mutex<Running>,
}

#[derive(Debug, Default)]
struct Running {
    batch: Option<Batch>,
    /// The lengths of the objects that were read, by their names.
    lengths: HashMap<String, u64>,
}

impl Blobs {
    pub(super) fn new(git: Git) -> Self {
        Self {
            git,
            running: Mutex::default(),
        }
    }

    /// Returns the length of an object in bytes; `None` if it is not stored.
    pub(super) fn length(&self, object: &str) -> io::Result<Option<u64>> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = running.lengths.get(object) {
            return Ok(Some(*known));
        }
        drop(running);
        Ok(self.find(object)?.map(|found| found.length))
    }

    /// Returns the object with a name, with up to [`EAGER`] bytes of its content; `None` if it is not known. The name is that
    /// of an object or of a revision, without a line break.
    pub(super) fn find(&self, name: &str) -> io::Result<Option<Answer>> {
        self.read(name, EAGER)
    }

    /// Returns up to `limit` bytes of an object; `None` if it is not stored.
    pub(super) fn start(&self, object: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
        Ok(self.read(object, limit)?.map(|answer| answer.bytes))
    }

    /// Ends the program, which is started again for the next object.
    pub(super) fn end(&self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.batch = None;
    }

    /// Reads an object with a running program, or starts it. A program that failed is started again for the next
    /// object.
    fn read(&self, name: &str, limit: u64) -> io::Result<Option<Answer>> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let batch = match running.batch.take() {
            Some(batch) => batch,
            None => Batch::start(&self.git).map_err(io::Error::other)?,
        };
        let (answer, batch) = batch.read(name, limit)?;
        running.batch = batch;
        if let Some(answer) = &answer {
            running.lengths.insert(answer.object.clone(), answer.length);
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

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
