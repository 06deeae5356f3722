//! Repositories for tests, and comparisons of a revision with a checkout of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use meshprobe::engine;
use meshprobe::filesystem::{FileSystem, Kind};
use meshprobe::git::{Commit, Repository};
use meshprobe::source::{Input, Request, SourceSet, canonical};
use tempfile::TempDir;

/// Settings of every command: a name for commits, and no protection against local clones.
const SETTINGS: [&str; 6] = [
    "user.name=tester",
    "user.email=tester@example.org",
    "protocol.file.allow=always",
    "init.defaultBranch=main",
    "commit.gpgSign=false",
    "advice.detachedHead=false",
];

/// A repository in a temporary folder, which may contain others.
pub(super) struct TestRepository {
    folder: TempDir,
    /// The resolved root.
    pub(super) root: PathBuf,
}

impl TestRepository {
    pub(super) fn new() -> Self {
        Self::with_format("sha1")
    }

    pub(super) fn with_format(format: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let root = canonical(folder.path()).unwrap().join("repo");
        fs::create_dir(&root).unwrap();
        run(&root, &["init", "-q", &format!("--object-format={format}")]);
        Self { folder, root }
    }

    /// Returns a path next to the root.
    pub(super) fn next_to(&self, name: &str) -> PathBuf {
        canonical(self.folder.path()).unwrap().join(name)
    }

    pub(super) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        write(&self.root, path, text);
    }

    pub(super) fn git(&self, arguments: &[&str]) -> String {
        run(&self.root, arguments)
    }

    /// Commits all files that git does not ignore, and those that are already tracked.
    pub(super) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    pub(super) fn open(&self) -> Repository {
        Repository::discover(&self.root).unwrap()
    }
}

pub(super) fn write(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Runs git without the settings of the user.
pub(super) fn try_run(folder: &Path, arguments: &[&str]) -> Output {
    let mut git = Command::new("git");
    for setting in SETTINGS {
        git.args(["-c", setting]);
    }
    for variable in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"] {
        git.env(variable, "/dev/null");
    }
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        git.env_remove(variable);
    }
    git.args(arguments).current_dir(folder).output().unwrap()
}

pub(super) fn run(folder: &Path, arguments: &[&str]) -> String {
    let done = try_run(folder, arguments);
    assert!(done.status.success(), "git {arguments:?}: {done:?}");
    String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
}

/// Returns a request for a folder that contains everything about a set.
pub(super) fn request(root: &Path, filesystem: FileSystem) -> Request {
    Request {
        targets: vec![Input::Path(PathBuf::from("."))],
        roots: vec![root.to_path_buf()],
        working_directory: root.to_path_buf(),
        filesystem,
        ..Request::default()
    }
}

pub(super) fn load(root: &Path, filesystem: FileSystem) -> SourceSet {
    engine::load(&request(root, filesystem))
}

/// Loads a commit from the objects of git. Every object must be readable.
pub(super) fn load_commit(repository: &Repository, commit: &Commit) -> SourceSet {
    let snapshot = repository.snapshot(commit).unwrap();
    let set = load(repository.root(), snapshot.files());
    assert_eq!(snapshot.failure(), None);
    set
}

/// Checks that a commit that is read from objects is the same as a checkout of it at the same path. Removes all other
/// files of the working tree.
pub(super) fn assert_like_checkout(root: &Path, revision: &str) {
    let repository = Repository::discover(root).unwrap();
    let commit = repository.resolve(revision).unwrap();
    let snapshot = repository.snapshot(&commit).unwrap();
    let read = load(root, snapshot.files());
    let items = all_items(&snapshot.files(), root);
    assert_eq!(snapshot.failure(), None);
    run(root, &["checkout", "-qf", "--detach", &commit.hash]);
    run(root, &["submodule", "update", "-q", "--init"]);
    run(root, &["clean", "-qffdx"]);
    assert_same(&items, &all_items(&FileSystem::default(), root));
    let checkout = load(root, FileSystem::default());
    let paths = |set: &SourceSet| -> Vec<String> {
        set.files
            .iter()
            .map(|file| format!("{} {:?}", file.path, file.fault))
            .collect()
    };
    assert_eq!(paths(&read), paths(&checkout));
    let (read, checkout) = (format!("{read:#?}"), format!("{checkout:#?}"));
    let line = read
        .lines()
        .zip(checkout.lines())
        .find(|(one, other)| one != other);
    assert!(read == checkout, "{line:?}");
}

/// Paths that are looked up in each folder and file of a revision.
const BELOW: [&str; 14] = [
    "",
    "x",
    "..",
    "../a.yaml",
    "kustomization.yaml",
    "./x.yaml",
    "../b/./x.yaml",
    "a/../b",
    "a//x.yaml",
    "no/no/x",
    "no/../x.yaml",
    "../../../..",
    "x.yaml/../x.yaml",
    "x\0.yaml",
];

fn assert_same(one: &BTreeSet<String>, other: &BTreeSet<String>) {
    let differences: Vec<&String> = one.symmetric_difference(other).collect();
    assert!(differences.is_empty(), "{differences:#?}");
}

/// Describes every path below a folder: its kind, its resolved path, its target and its content.
pub(super) fn all_items(files: &FileSystem, root: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut next = vec![root.to_path_buf()];
    while let Some(folder) = next.pop() {
        for entry in files.entries(&folder).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(&entry.name);
            if entry.name == ".git" {
                assert!(files.exists(&path));
                continue;
            }
            let reason = |error: std::io::Error| error.to_string();
            let open = |path: &Path| files.open_file(path).and_then(|file| file.read(u64::MAX));
            found.insert(format!(
                "{path:?}: {:?} {:?} {:?} {:?} {:?} {:?}",
                entry.kind,
                files.symlink_kind(&path).map_err(reason),
                files.kind(&path).map_err(|error| error.kind()),
                files.canonical(&path).map_err(|error| error.kind()),
                files.read_link(&path).map_err(|error| error.kind()),
                open(&path)
                    .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                    .ok(),
            ));
            found.insert(format!(
                "{path:?}: {:?}",
                files.file_length(&path).map_err(|error| error.kind())
            ));
            for below in BELOW {
                let path = path.join(below);
                let real = files.canonical(&path).map_err(|error| error.kind());
                found.insert(format!("{path:?}: {real:?}"));
            }
            if entry.kind == Kind::Folder {
                next.push(path);
            }
        }
    }
    found
}
