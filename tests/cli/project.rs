//! A directory with files in which the program is run.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_meshprobe");

pub(crate) struct Project {
    directory: TempDir,
}

/// What a run left behind.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Project {
    /// An empty directory that is the root of a repository, so that nothing above it is read.
    pub(crate) fn new() -> Self {
        let directory = TempDir::new().unwrap();
        fs::create_dir(directory.path().join(".git")).unwrap();
        Self { directory }
    }

    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let project = Self::new();
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.run_in("", arguments, "")
    }

    pub(crate) fn pipe(&self, arguments: &[&str], stdin: impl AsRef<[u8]>) -> Run {
        self.run_in("", arguments, stdin)
    }

    pub(crate) fn run_in(
        &self,
        directory: &str,
        arguments: &[&str],
        stdin: impl AsRef<[u8]>,
    ) -> Run {
        let mut command = command(Path::new(PROGRAM), &self.path(directory));
        run(command.args(arguments), stdin.as_ref())
    }
}

/// The program without the environment of whoever runs the tests.
pub(crate) fn command(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().current_dir(directory);
    command
}

pub(crate) fn run(command: &mut Command, stdin: &[u8]) -> Run {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The program may end without reading everything.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().expect("ended by a signal"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Run {
    /// Checks the exit code and shows everything where it is another.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "stdout:\n{}\nstderr:\n{}",
            self.stdout, self.stderr
        );
        self
    }

    #[track_caller]
    pub(crate) fn says(self, part: &str) -> Self {
        assert!(
            self.stdout.contains(part),
            "no {part:?} in stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    #[track_caller]
    pub(crate) fn complains(self, part: &str) -> Self {
        assert!(
            self.stderr.contains(part),
            "no {part:?} in stderr:\n{}\nstdout:\n{}",
            self.stderr,
            self.stdout
        );
        self
    }

    /// Standard error without the times of `--verbose`.
    pub(crate) fn untimed(&self) -> String {
        let lines = self
            .stderr
            .lines()
            .filter(|line| !line.starts_with("time: "));
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// All that is shown of the run, for snapshots.
    pub(crate) fn shown(&self) -> String {
        let stderr = if self.stderr.is_empty() {
            String::new()
        } else {
            format!("--- stderr\n{}", self.stderr)
        };
        format!("--- exit {}\n{}{stderr}", self.code, self.stdout)
    }
}
