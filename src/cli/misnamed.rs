//! Commands and options of other linters: the errors that name those of meshprobe.

use std::ffi::OsString;

use clap::Error;
use clap::error::{ContextKind, ContextValue};

use super::stop::Stop;

/// Commands of other tools, and what to use instead.
const COMMANDS: [(&[&str], &str); 3] = [
    (
        &[
            "lint", "scan", "validate", "verify", "analyze", "analyse", "test", "run",
        ],
        "use `meshprobe check PATH`",
    ),
    (&["fix"], "use `meshprobe check --fix PATH`"),
    (
        &["init", "config"],
        "write a `.meshprobe.yaml`; `meshprobe schema` prints its schema",
    ),
];

/// Options of other tools, the commands for which the answer is right, and what to use instead.
const OPTIONS: [(&[&str], &[&str], &str); 6] = [
    (
        &["--format", "--output", "-o"],
        &["check"],
        "use `--output-format FORMAT`; `--report FORMAT=FILE` writes a report to a file",
    ),
    (
        &["--output-file"],
        &["check"],
        "use `--report FORMAT=FILE`, such as `--report sarif=meshprobe.sarif`",
    ),
    (
        &["--format", "--output", "-o"],
        &["explain", "predict", "rule"],
        "use `--output-format FORMAT`",
    ),
    (
        &["-f", "--file", "--filename"],
        &["check", "predict", "rewrite"],
        "pass the path without an option, such as `meshprobe check apps`",
    ),
    (&["--dry-run"], &["check", "rewrite"], "use `--diff`"),
    (
        &["--severity", "--level"],
        &["check"],
        "use `--min-severity SEVERITY` for the report, and `--fail-on SEVERITY` for the exit code",
    ),
];

/// Returns the error for a name that another tool uses; `None` if it is not known.
pub(super) fn explain(error: &Error, arguments: &[OsString]) -> Option<Stop> {
    if let Some(command) = invalid(error, ContextKind::InvalidSubcommand) {
        let known = COMMANDS.iter().find(|(names, _)| names.contains(&command));
        let (_, help) = known?;
        return Some(Stop::usage(format!("unrecognized subcommand `{command}`")).help(*help));
    }
    let option = invalid(error, ContextKind::InvalidArg)?;
    let is_given = |command: &&str| arguments.get(1).is_some_and(|first| first == command);
    let known = OPTIONS
        .iter()
        .find(|(names, commands, _)| names.contains(&option) && commands.iter().any(is_given));
    let (.., help) = known?;
    Some(Stop::usage(format!("unexpected argument `{option}`")).help(*help))
}

fn invalid(error: &Error, kind: ContextKind) -> Option<&str> {
    use clap::error::ErrorKind::{InvalidSubcommand, UnknownArgument};
    if !matches!(error.kind(), InvalidSubcommand | UnknownArgument) {
        return None;
    }
    match error.get(kind)? {
        ContextValue::String(name) => Some(name),
        _ => None,
    }
}
