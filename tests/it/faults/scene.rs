//! The setup of a fault: the files before and after, and how and as which user the program runs.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak};

use tempfile::TempDir;

use super::page::Row;
pub(crate) use crate::support::manifest::INJECTED as NAMESPACE;
use crate::support::project::Project;
use crate::support::{PROGRAM, Run, command, run};

/// An account that owns no files.
const NOBODY: u32 = 65_534;

/// A Deployment whose probe is rewritten.
pub(crate) fn deployment(name: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: shop}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers:
        - name: web
          image: registry.example/web:1
          readinessProbe:
            httpGet: {{path: /healthz, port: 8080}}
"
    )
}

/// A folder with a Namespace and one Deployment.
pub(crate) fn shop() -> Project {
    Project::with(&[("ns.yaml", NAMESPACE), ("web.yaml", &deployment("web"))])
}

/// Builds one row: runs `act`, finds the line that contains `needle`, and compares the folder before and after.
#[track_caller]
pub(crate) fn row(
    fault: &'static str,
    project: &Project,
    code: i32,
    needle: &str,
    act: impl FnOnce(&Project) -> Run,
) -> Row {
    let before = tree(&project.path(""));
    let run = act(project).exits(code);
    let after = tree(&project.path(""));
    assert!(!run.stderr.contains("itself failed"), "{}", run.stderr);
    for c in run.stdout.chars().chain(run.stderr.chars()) {
        assert!(
            !c.is_control() || "\n\t".contains(c),
            "{c:?} is not escaped"
        );
    }
    Row::Shown {
        fault,
        seen: line_with(&run, needle),
        exit: code.to_string(),
        left: difference(&before, &after),
    }
}

/// Returns the first line of both output streams that contains `needle`.
#[track_caller]
pub(crate) fn line_with(run: &Run, needle: &str) -> String {
    if needle.is_empty() {
        assert_eq!(run.stderr, "");
        return String::new();
    }
    let mut lines = run.stderr.lines().chain(run.stdout.lines());
    let found = lines.find(|line| line.contains(needle));
    let found = found.unwrap_or_else(|| panic!("no {needle:?} in {}\n{}", run.stdout, run.stderr));
    found.trim().to_owned()
}

/// Runs `check`; prints one line per finding.
pub(crate) fn check(project: &Project) -> Run {
    project.run(&["check", "--output-format", "concise"])
}

/// Runs `check` with the given paths or options; prints one line per finding.
pub(crate) fn check_with(project: &Project, arguments: &[&str]) -> Run {
    project.run(&[&["check", "--output-format", "concise"], arguments].concat())
}

/// Runs `rewrite --write` in the whole folder.
pub(crate) fn rewrite(project: &Project) -> Run {
    project.run(&["rewrite", "--write", "--quiet", "."])
}

/// Returns everything below a folder: kind, content, owner and permissions of each file.
pub(crate) fn tree(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.map(Result::unwrap) {
            let path = entry.path();
            let Ok(metadata) = fs::symlink_metadata(&path) else {
                // The path is longer than the system allows.
                continue;
            };
            let kind = metadata.file_type();
            if kind.is_dir() {
                if entry.file_name() != ".git" {
                    folders.push(path);
                }
                continue;
            }
            let content = if kind.is_symlink() {
                format!("{:?}", fs::read_link(&path).unwrap())
            } else if kind.is_file() && metadata.len() < 1 << 20 {
                fs::read(&path).map_or_else(|_| "unreadable".into(), |bytes| format!("{bytes:?}"))
            } else {
                format!("{} {}", metadata.len(), kind.is_fifo())
            };
            let (mode, user, group) = (metadata.mode(), metadata.uid(), metadata.gid());
            let name = path.strip_prefix(root).unwrap().to_string_lossy();
            found.insert(masked(&name), format!("{mode:o} {user} {group} {content}"));
        }
    }
    found
}

/// Replaces the random names of temporary files.
fn masked(name: &str) -> String {
    let name = &name.replace(&"n".repeat(250), "nnn…");
    match (name.find(".meshprobe-"), name.strip_suffix(".tmp")) {
        (Some(start), Some(_)) => {
            let folder: String = name.chars().take(start).collect();
            format!("{folder}.meshprobe-….tmp")
        }
        _ => name.to_owned(),
    }
}

fn difference(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> String {
    let names = |wanted: &dyn Fn(&str) -> bool| -> String {
        let all = before
            .keys()
            .chain(after.keys().filter(|name| !before.contains_key(*name)));
        let some: Vec<String> = all
            .filter(|name| wanted(name))
            .map(|name| format!("`{name}`"))
            .collect();
        some.join(", ")
    };
    let changed = names(&|name| {
        let (old, new) = (before.get(name), after.get(name));
        old.is_some() && new.is_some() && old != new
    });
    let new = names(&|name| !before.contains_key(name));
    let removed = names(&|name| !after.contains_key(name));
    let parts = [("changed", changed), ("new", new), ("removed", removed)];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what}: {names}"))
        .collect();
    if parts.is_empty() {
        "as before".to_owned()
    } else {
        parts.join("; ")
    }
}

pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Gives the folder to the user that [`as_user`] runs the program as.
pub(crate) fn for_user(project: Project) -> Project {
    if is_root() {
        give(&project.path(""), NOBODY);
    }
    project
}

/// Runs the program as a user without special permissions: as another user if the tests run as root.
pub(crate) fn as_user(project: &Project, arguments: &[&str]) -> Run {
    if !is_root() {
        return project.run(arguments);
    }
    let program = SharedProgram::get();
    let mut command = command(&program.path, &project.path(""));
    run(command.args(arguments).uid(NOBODY).gid(NOBODY), b"")
}

/// Changes the owner of a folder and of all its content.
pub(crate) fn give(path: &Path, user: u32) {
    let metadata = fs::symlink_metadata(path).unwrap();
    if metadata.is_symlink() {
        return;
    }
    chown(path, Some(user), Some(user)).unwrap();
    if metadata.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path(), user);
        }
    }
}

/// The program in a folder where every user can run it: the build folder may not be accessible. The last test deletes
/// the copy, because statics are never dropped.
struct SharedProgram {
    path: PathBuf,
    _folder: TempDir,
}

impl SharedProgram {
    fn get() -> Arc<Self> {
        static COPY: Mutex<Weak<SharedProgram>> = Mutex::new(Weak::new());
        let mut copy = COPY.lock().unwrap();
        copy.upgrade().unwrap_or_else(|| {
            let new = Arc::new(Self::copy());
            *copy = Arc::downgrade(&new);
            new
        })
    }

    fn copy() -> Self {
        let folder = TempDir::new().unwrap();
        mode(folder.path(), 0o755);
        let path = folder.path().join("meshprobe");
        // A file that this process had open for writing could not be run if another test started a program in the
        // meantime, which would inherit the file handle.
        let copied = Command::new("cp").arg(PROGRAM).arg(&path).status();
        assert!(copied.unwrap().success());
        mode(&path, 0o755);
        Self {
            path,
            _folder: folder,
        }
    }
}

pub(crate) fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Runs the program in a shell after the command `first`, such as `ulimit -n 32`.
pub(crate) fn after(first: &str, project: &Project, arguments: &[&str], stdin: &[u8]) -> Run {
    let mut shell = command("sh".as_ref(), &project.path(""));
    shell.env("PATH", std::env::var_os("PATH").unwrap());
    let line = format!("{first}\nexec \"$0\" \"$@\"");
    run(
        shell.arg("-c").arg(line).arg(PROGRAM).args(arguments),
        stdin,
    )
}

/// Runs a shell command in which `"$0"` is the program; returns the status of the command.
pub(crate) fn shell(project: &Project, line: &str) -> Run {
    let mut shell = command("sh".as_ref(), &project.path(""));
    shell.env("PATH", std::env::var_os("PATH").unwrap());
    run(shell.arg("-c").arg(line).arg(PROGRAM), b"")
}

pub(crate) fn started(project: &Project, arguments: &[&str]) -> Child {
    command(PROGRAM.as_ref(), &project.path(""))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs the program on one thread with a pipe as its last file, calls `between` when all other files
/// have been read, and lets the run continue.
pub(crate) fn held(
    project: &Project,
    arguments: &[&str],
    pipe: &str,
    between: impl FnOnce(),
) -> Run {
    project.pipe_file(pipe);
    let child = started(project, &[arguments, &["--threads", "1", pipe]].concat());
    // Opening blocks until the program opens the pipe: files are read in the order of their paths.
    let end = fs::OpenOptions::new()
        .write(true)
        .open(project.path(pipe))
        .unwrap();
    between();
    drop(end);
    let output = child.wait_with_output().unwrap();
    fs::remove_file(project.path(pipe)).unwrap();
    Run {
        code: output.status.code().expect("ended by a signal"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
