//! Runs the built binary, for tests of streams, signals and limits, which need a process.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Run;

/// The built binary.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_meshprobe");

/// Returns a command that runs `program` in `directory` with an empty environment.
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
