//! The command line: the only place, beside `krm`, that prints, reads the environment, or
//! decides how the process ends.

mod args;
mod check;
mod config;
mod input;
mod machine;
mod output;
mod panic;
mod predict;
mod progress;
mod render;
mod reports;
mod rewrite;
mod rule;
mod schema;
mod session;
mod shell;
mod terminal;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::engine::{Exit, PanicReport, catch_panic};
use crate::krm;
use crate::source::{read_file, reason};

pub use session::Session;

use args::{Cli, Command};
use output::Stop;

/// Room for documents as deep as the parser allows, in every thread: bytes.
pub(super) const STACK: usize = 4 << 20;

/// Runs the program with the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    panic::install_hook();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    ExitCode::from(run(&arguments, &Session::of_process()).code())
}

/// Runs the program with `arguments`, the first of which is the name that it was called by.
///
/// The run takes streams, working directory and environment from `session`, so several runs can go on at the
/// same time. It shares with its process the width of the terminal and the folder for temporary files. A panic ends the run with [`Exit::Failure`].
#[must_use]
pub fn run(arguments: &[OsString], session: &Session) -> Exit {
    with_stack(|| run_command(arguments, session)).unwrap_or_else(|panic| {
        panic::report(session, &panic);
        Exit::Failure
    })
}

/// Does the work on a thread with a large enough stack, because that of the caller may be small.
fn with_stack(work: impl Fn() -> Exit + Sync) -> Result<Exit, PanicReport> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        match thread.spawn_scoped(scope, &work) {
            Ok(started) => started.join().map_err(|payload| PanicReport::of(&*payload)),
            // There may be no more threads to be had.
            Err(_) => catch_panic(&work),
        }
    })
}

fn run_command(arguments: &[OsString], session: &Session) -> Exit {
    #[cfg(debug_assertions)]
    crate::engine::planted_panic::trip("main", "");
    let done = if called_as_function(arguments) {
        function(session, arguments.get(1).map(Path::new))
    } else {
        reject_file_options(arguments, session).and_then(|()| {
            let cli = Cli::try_parse_from(arguments).map_err(Stop::from)?;
            dispatch(session, cli)
        })
    };
    match done {
        Ok(exit) => exit,
        Err(stop) => stop.tell(session),
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
                "`{option}` is an option and also the name of a file; put `--` before the names of \
                 files, or start the name with `./`"
            )));
        }
    }
    Ok(())
}

/// Called as `meshprobe-krm`, or by the kind that a legacy plugin of kustomize is named after; by
/// link or copy.
fn called_as_function(arguments: &[OsString]) -> bool {
    arguments
        .first()
        .and_then(|name| Path::new(name).file_stem())
        .is_some_and(|name| name == "meshprobe-krm" || name == "MeshProbe")
}

fn dispatch(session: &Session, cli: Cli) -> Result<Exit, Stop> {
    match cli.command {
        Some(Command::Check(args)) => check::run(session, &args),
        Some(Command::Rewrite(args)) => rewrite::run(session, &args),
        Some(Command::Predict(args)) => predict::run(session, &args),
        Some(Command::Krm { config: Some(path) })
            if !session.directory()?.join(&path).is_file() =>
        {
            Err(Stop::usage(format!(
                "there is no configuration file {}",
                path.display()
            )))
        }
        Some(Command::Krm { config }) => function(session, config.as_deref()),
        Some(Command::Rule(args)) => rule::run(session, &args),
        Some(Command::Schema(args)) => schema::run(session, &args),
        Some(Command::Completions { shell }) => shell::completions(session, shell),
        Some(Command::Man) => shell::man(session),
        None if session.stdin_is_terminal() => {
            session.print(&Cli::command().render_help().to_string())?;
            Ok(Exit::Success)
        }
        None => function(session, None),
    }
}

/// Reads a `ResourceList`, or what a plugin is given with its configuration file, and prints in
/// one go at the end: half a list would make the caller delete the other half.
fn function(session: &Session, config: Option<&Path>) -> Result<Exit, Stop> {
    let bytes = session.read_stdin()?;
    let directory = session.directory()?;
    // A function may be given arguments of its caller's; a plugin is given a file.
    let config = config.filter(|path| directory.join(path).is_file());
    let read = config.map(|path| {
        let name = path.display().to_string();
        let bytes = read_file(&directory.join(path))
            .map_err(|error| Stop::usage(format!("cannot read {name}: {}", reason(&error))))?;
        Ok::<_, Stop>((name, bytes))
    });
    let read = read.transpose()?;
    let file = read
        .as_ref()
        .map(|(name, bytes)| krm::ConfigFile { name, bytes });
    let answer = krm::run(&bytes, directory, file);
    session.eprint(&answer.messages);
    if let Some(text) = &answer.output {
        session.print(text)?;
    }
    Ok(answer.exit)
}
