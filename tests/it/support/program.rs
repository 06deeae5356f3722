//! Runs the program in the process of the test, and records its output and exit code.

use std::ffi::OsString;
use std::io::{self, Cursor, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use meshprobe::cli::{self, Session};

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the program in `folder` with an empty environment, in this process: thousands of runs cost
/// less than starting thousands of processes. `process::run` starts the built binary instead.
///
/// A fixture is a tree of its own: other fixtures in the repository of this project must not state facts about it.
/// [`Project`](super::project::Project) is a repository.
pub(crate) fn meshprobe(folder: &Path, arguments: &[&str], stdin: impl AsRef<[u8]>) -> Run {
    let mut arguments = arguments.to_vec();
    if folder.starts_with(env!("CARGO_MANIFEST_DIR"))
        && matches!(
            arguments.first(),
            Some(&("check" | "diff" | "explain" | "predict" | "rewrite"))
        )
    {
        arguments.insert(1, "--no-context");
    }
    let (stdout, stderr) = (Capture::default(), Capture::default());
    let stdin = Cursor::new(stdin.as_ref().to_vec());
    let session = Session::new(folder.to_path_buf(), stdin, stdout.clone(), stderr.clone());
    let arguments: Vec<OsString> = std::iter::once("meshprobe")
        .chain(arguments.iter().copied())
        .map(OsString::from)
        .collect();
    let exit = cli::run(&arguments, &session);
    Run {
        code: i32::from(exit.code()),
        stdout: stdout.text(),
        stderr: stderr.text(),
    }
}

/// A stream that keeps the bytes that are written to it.
#[derive(Clone, Default)]
struct Capture(Arc<Mutex<Vec<u8>>>);

impl Capture {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Capture {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Run {
    /// Checks the exit code, and shows all output if it differs.
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
    pub(crate) fn stdout_contains(self, part: &str) -> Self {
        assert!(
            self.stdout.contains(part),
            "no {part:?} in stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    #[track_caller]
    pub(crate) fn stderr_contains(self, part: &str) -> Self {
        assert!(
            self.stderr.contains(part),
            "no {part:?} in stderr:\n{}\nstdout:\n{}",
            self.stderr,
            self.stdout
        );
        self
    }

    /// Returns standard error without the times of `--verbose`.
    pub(crate) fn stderr_without_times(&self) -> String {
        let lines = self
            .stderr
            .lines()
            .filter(|line| !line.starts_with("time: "));
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// Returns exit code and output of the run, for snapshots.
    pub(crate) fn transcript(&self) -> String {
        let stderr = if self.stderr.is_empty() {
            String::new()
        } else {
            format!("--- stderr\n{}", self.stderr)
        };
        format!("--- exit {}\n{}{stderr}", self.code, self.stdout)
    }
}
