//! Runs the command that the arguments name, and reports panics that nothing else has caught.

use std::backtrace::{Backtrace, BacktraceStatus};
#[cfg(feature = "mcp")]
use std::error::Error as _;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

#[cfg(feature = "mcp")]
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, Parser as _};
use meshprobe_engine::engine::{Exit, PanicReport, how_to_report, record_panic};
use meshprobe_mesh::mesh;
use meshprobe_mesh::mesh::ProvenRelease;
use meshprobe_tree::source::{FileSystem, io_error_reason};

use super::args::{Cli, Command};
use super::session::Session;
use super::stop::Stop;
use super::threads::with_stack;
use super::{check, diff, explain, lsp, mcp, predict, rewrite, shell};
use crate::krm;

/// The time after which a program that waits for standard input explains itself.
const STDIN_NOTE_DELAY: Duration = Duration::from_secs(3);

/// Runs the program with the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    install_hook();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    ExitCode::from(run(&arguments, &Session::of_process()).code())
}

/// Runs the program with `arguments`, the first of which is the name of the program.
///
/// The run takes its streams, working directory and environment from `session`, so that several runs can share a
/// process. They also share the width of the terminal and the folder for temporary files. A panic ends the run with
/// [`Exit::Failure`].
#[must_use]
pub fn run(arguments: &[OsString], session: &Session) -> Exit {
    with_stack(|| run_command(arguments, session)).unwrap_or_else(|panic| {
        report_panic(session, &panic);
        Exit::Failure
    })
}

/// Runs the program like [`run`] for a caller that composes the arguments itself: they may be names of files, and the
/// name of the program has no meaning.
#[cfg(feature = "mcp")]
pub(super) fn run_arguments(arguments: &[OsString], session: &Session) -> Exit {
    let run = || match Cli::try_parse_from(arguments)
        .map_err(invalid_value)
        .and_then(|cli| dispatch(session, cli))
    {
        Ok(exit) => exit,
        Err(stop) => stop.report(session),
    };
    with_stack(run).unwrap_or_else(|panic| {
        report_panic(session, &panic);
        Exit::Failure
    })
}

/// Returns the message about an invalid value in our own words, for a reader who does not see the usage.
#[cfg(feature = "mcp")]
fn invalid_value(error: clap::Error) -> Stop {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (option, value) = (
        text(ContextKind::InvalidArg),
        text(ContextKind::InvalidValue),
    );
    let option = option.and_then(|option| option.split(' ').next());
    match (option, value, error.source()) {
        (Some(option), Some(value), Some(reason)) => {
            Stop::usage(format!("invalid value `{value}` for `{option}`: {reason}"))
        }
        _ => Stop::from(error),
    }
}

fn run_command(arguments: &[OsString], session: &Session) -> Exit {
    #[cfg(debug_assertions)]
    meshprobe_engine::engine::planted_panic::trip("main", "");
    if let Some(shell) = shell::requesting_shell(session, arguments) {
        return shell::complete(session, shell, arguments);
    }
    let result = if is_called_as_function(arguments) {
        function(session, arguments.get(1).map(Path::new))
    } else {
        reject_file_options(arguments, session)
            .and_then(|()| dispatch(session, Cli::try_parse_from(arguments)?))
    };
    match result {
        Ok(exit) => exit,
        Err(stop) => stop.report(session),
    }
}

/// Rejects an option that is also the name of a file: a caller that passes the names of a repository's
/// files without `--` before them would let the repository choose the options.
fn reject_file_options(arguments: &[OsString], session: &Session) -> Result<(), Stop> {
    let options = arguments
        .iter()
        .take_while(|argument| *argument != "--")
        .filter(|argument| argument.as_encoded_bytes().starts_with(b"-") && *argument != "-");
    for option in options {
        let place = session.directory()?.join(option);
        if std::fs::symlink_metadata(place).is_ok() {
            let option = option.display();
            return Err(Stop::usage(format!(
                "`{option}` is an option and also the name of a file"
            ))
            .help("put `--` before the names of files, or start the name with `./`"));
        }
    }
    Ok(())
}

/// Returns whether the program was called, through a link or copy, as `meshprobe-krm` or with the kind after which
/// kustomize names a legacy plugin.
fn is_called_as_function(arguments: &[OsString]) -> bool {
    arguments
        .first()
        .and_then(|name| Path::new(name).file_stem())
        .is_some_and(|name| name == "meshprobe-krm" || name == "MeshProbe")
}

fn dispatch(session: &Session, cli: Cli) -> Result<Exit, Stop> {
    if cli.version {
        session.print_text(&text(cli.verbose))?;
        return Ok(Exit::Success);
    }
    match cli.command {
        Some(Command::Check(args)) => check::run(session, &args),
        Some(Command::Rewrite(args)) => rewrite::run(session, &args),
        Some(Command::Predict(args)) => predict::run(session, &args),
        Some(Command::Diff(args)) => diff::run(session, &args),
        Some(Command::Lsp(args)) => lsp::run(session, &args),
        Some(Command::Krm { config: Some(path) })
            if !session.directory()?.join(&path).is_file() =>
        {
            Err(Stop::usage(format!(
                "the configuration file `{}` does not exist",
                path.display()
            )))
        }
        Some(Command::Krm { config }) => function(session, config.as_deref()),
        Some(Command::Explain(args)) => explain::run(session, &args),
        Some(Command::Mcp(args)) => mcp::run(session, &args),
        Some(Command::Rule(args)) => explain::rule(session, &args),
        Some(Command::Schema(args)) => explain::schema(session, &args),
        Some(Command::Completions { shell }) => shell::completions(session, shell),
        Some(Command::Man { command }) => shell::man(session, command.as_deref()),
        None if session.stdin_is_terminal() => {
            session.print_text(&Cli::command().render_help().to_string())?;
            Ok(Exit::Success)
        }
        None => run_without_arguments(session),
    }
}

/// Runs the KRM function for a caller that gives no arguments, and explains how to call the program if the caller does
/// not pass a list.
fn run_without_arguments(session: &Session) -> Result<Exit, Stop> {
    let bytes = read_list(session)?;
    if bytes.trim_ascii().is_empty() {
        return Err(Stop::usage(
            "expected a command, such as `meshprobe check .`, or a ResourceList on standard input",
        )
        .help("`meshprobe --help` lists the commands"));
    }
    answer(session, &bytes, None)
}

/// Reads standard input. If it stays open without an end, prints a note about what the program waits for.
fn read_list(session: &Session) -> Result<Vec<u8>, Stop> {
    let (end, ended) = channel::<()>();
    std::thread::scope(|scope| {
        let wait = move || {
            if ended.recv_timeout(STDIN_NOTE_DELAY) == Err(RecvTimeoutError::Timeout) {
                session.errln(
                    "note: waiting for a ResourceList on standard input; `meshprobe --help` lists the commands",
                );
            }
        };
        // If the thread does not start, only the note is missing.
        let _ = std::thread::Builder::new().spawn_scoped(scope, wait);
        let read = session.read_stdin();
        drop(end);
        read
    })
}

/// Runs the KRM function, or the legacy plugin if `config` is a file. The output is printed at once at the end: the
/// caller would delete the resources that are missing from half a list.
fn function(session: &Session, config: Option<&Path>) -> Result<Exit, Stop> {
    answer(session, &session.read_stdin()?, config)
}

fn answer(session: &Session, bytes: &[u8], config: Option<&Path>) -> Result<Exit, Stop> {
    let directory = session.directory()?;
    // The arguments of a function have a meaning for its caller only; the argument of a plugin is a file.
    let config = config.filter(|path| directory.join(path).is_file());
    let content = config
        .map(|path| {
            let name = path.display().to_string();
            let bytes = FileSystem::default()
                .read_file(&directory.join(path))
                .map_err(|error| {
                    Stop::usage(format!("cannot read `{name}`: {}", io_error_reason(&error)))
                })?;
            Ok::<_, Stop>((name, bytes))
        })
        .transpose()?;
    let file = content
        .as_ref()
        .map(|(name, bytes)| krm::ConfigFile { name, bytes });
    let answer = krm::run(bytes, directory, file);
    session.eprint(&answer.messages);
    if let Some(text) = &answer.output {
        session.print_manifests(text)?;
    }
    Ok(answer.exit)
}

/// Returns the version of the program; in the long form also the newest proven release of each mesh.
pub(super) fn text(is_verbose: bool) -> String {
    let mut text = format!("meshprobe {}\n", env!("CARGO_PKG_VERSION"));
    if is_verbose {
        text.push_str(
            "\nNewest release of each mesh that was compared with meshprobe (docs/oracles.md):\n",
        );
        for mesh in mesh::all() {
            let proven = mesh::newest_proven(mesh).map_or_else(|| "none".to_owned(), describe);
            text.push_str(&format!("  {}: {proven}\n", mesh.title()));
        }
    }
    text
}

fn describe(proven: ProvenRelease) -> String {
    let ProvenRelease {
        release,
        reference,
        commit,
        pods,
    } = proven;
    format!("{release} ({reference}, commit {commit}, {pods} pods)")
}

/// Installs the panic hook. It does not print the panic: a panic on one file becomes a finding, and [`report_panic`] prints
/// all others. It prints the stack if `RUST_BACKTRACE` is set, because only the hook knows it.
fn install_hook() {
    #[cfg(debug_assertions)]
    if let Ok(stage) = std::env::var(meshprobe_engine::engine::planted_panic::VARIABLE) {
        meshprobe_engine::engine::planted_panic::plant(stage);
    }
    std::panic::set_hook(Box::new(|info| {
        record_panic(info);
        let stack = Backtrace::capture();
        if stack.status() == BacktraceStatus::Captured {
            // The hook belongs to the process, so it does not know the session. If standard error is closed, the
            // failure cannot be reported anywhere.
            let _ = writeln!(std::io::stderr(), "stack backtrace:\n{stack}");
        }
    }));
}

/// Prints the panic, and how to report it.
fn report_panic(session: &Session, panic: &PanicReport) {
    let version = env!("CARGO_PKG_VERSION");
    session.errln(&format!("error: meshprobe {version} panicked: {panic}"));
    session.errln(&format!("help: {}", how_to_report("its input")));
}
