//! `meshprobe lsp`.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser as _;
use lsp_server::Connection;
use meshprobe_mesh::settings::FailOn;
use meshprobe_tree::filesystem::FileSystem;
use meshprobe_tree::source::CONFIG_NAMES;
use serde_json::Value;

use super::args::{CheckArgs, Cli, Command, LspArgs, OptionName};
use super::baseline::Known;
use super::input::{Planned, RenderFallback, plan};
use super::session::{Capture, Session};
use super::stop::Stop;
use super::threads::{cores, pool};
use super::{check, surroundings};
use meshprobe_engine::engine::Exit;
use meshprobe_lsp as lsp;
use meshprobe_lsp::{Environment, Loader, Plan, Root, SettingsError};

pub(super) fn run(session: &Session, args: &LspArgs) -> Result<Exit, Stop> {
    let (connection, threads) = Connection::stdio();
    let exit = serve_with(session, args, &connection)?;
    drop(connection);
    // After `exit`, the last answers are still being written. A client that has not sent it may have died with its end of
    // the input still open, so that the reader never ends.
    if exit == Exit::Success {
        let _ = threads.join();
    }
    Ok(exit)
}

/// Runs the language server on a connection, with the options of `meshprobe lsp`.
///
/// # Errors
/// The message for an option that is not valid.
pub fn serve(options: &[&str], session: &Session, connection: &Connection) -> Result<Exit, String> {
    let arguments = ["meshprobe", "lsp"].iter().chain(options);
    let cli = Cli::try_parse_from(arguments).map_err(|error| error.to_string())?;
    match cli.command {
        Some(Command::Lsp(args)) => {
            serve_with(session, &args, connection).map_err(|stop| messages(&stop).join("\n"))
        }
        _ => Ok(Exit::Failure),
    }
}

fn serve_with(session: &Session, args: &LspArgs, connection: &Connection) -> Result<Exit, Stop> {
    // An option that is not valid ends the server, because no setting of the client can correct it.
    let checked = check_args(args, &Value::Null, None).map_err(Stop::Usage)?;
    let environment = Environment {
        loader: Arc::new(Settings {
            args: args.clone(),
            variables: session.variables(),
        }),
        pool: pool(checked.common.threads.map_or_else(cores, usize::from))?,
    };
    lsp::serve(connection, environment)
        .map_err(|error| Stop::usage(format!("cannot start a thread: {error}")))
}

/// Reads the settings of folders from the command line, the configuration and the client.
struct Settings {
    args: LspArgs,
    variables: Vec<(OsString, OsString)>,
}

impl Loader for Settings {
    fn plan(
        &self,
        root: &Root,
        client: &Value,
        files: &FileSystem,
    ) -> Result<Plan, Vec<SettingsError>> {
        let place = |message: String| SettingsError {
            place: place(&message, &root.folder),
            message,
        };
        let args = check_args(&self.args, client, root.only.as_deref());
        let args = args.map_err(|messages| messages.into_iter().map(place).collect::<Vec<_>>())?;
        let notes = Capture::default();
        let session = self.variables.iter().fold(
            Session::new(root.folder.clone(), io::empty(), io::sink(), notes.clone()),
            |session, (name, value)| session.with_variable(name, value),
        );
        let mut plan = plan_of(&session, &args, files)
            .map_err(|stop| messages(&stop).into_iter().map(place).collect::<Vec<_>>())?;
        plan.notes = notes.text();
        Ok(plan)
    }
}

fn plan_of(session: &Session, args: &CheckArgs, files: &FileSystem) -> Result<Plan, Stop> {
    let options = check::options(args);
    let Planned {
        mut layer,
        request,
        limits,
        ..
    } = plan(
        session,
        &args.common,
        RenderFallback::Files,
        None,
        files.clone(),
    )?;
    layer = options.or(layer);
    let known = Known::read(session, (&layer, &request), args)?;
    Ok(Plan {
        settings: layer.resolved(FailOn::default()),
        context_option: surroundings::context_option(session, &limits, &request)?,
        request,
        suppress: Arc::new(move |set, outcome| known.suppress(set, outcome)),
        notes: String::new(),
    })
}

/// Returns the options of `check` for a folder, or for one file. Settings of the client replace options of the command
/// line, and add to those that can be repeated.
///
/// # Errors
/// The messages for settings that are not valid.
fn check_args(
    args: &LspArgs,
    client: &Value,
    only: Option<&Path>,
) -> Result<CheckArgs, Vec<String>> {
    let mut arguments: Vec<OsString> = vec!["meshprobe".into(), "check".into()];
    let given = client_options(client)?;
    let is_replaced = |name: &OptionName| {
        !name.is_repeatable && given.iter().any(|(other, _)| other.long == name.long)
    };
    let own = args.options.iter().filter(|(name, _)| !is_replaced(name));
    for (name, values) in own.chain(&given) {
        let option = format!("--{}", name.long);
        arguments.extend(
            values
                .iter()
                .map(|value| format!("{option}={value}").into()),
        );
        if name.is_flag {
            arguments.push(option.into());
        }
    }
    arguments.push("--".into());
    arguments.extend(only.map(OsString::from));
    match Cli::try_parse_from(arguments) {
        Ok(Cli {
            command: Some(Command::Check(args)),
            ..
        }) => Ok(args),
        Ok(_) => Err(vec!["the settings are not options of `check`".to_owned()]),
        Err(error) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Err(vec![first.trim_start_matches("error: ").to_owned()])
        }
    }
}

/// Returns the options in the settings of the client.
///
/// # Errors
/// The messages for keys that are not known, and for values of a wrong type.
fn client_options(client: &Value) -> Result<Vec<(OptionName, Vec<String>)>, Vec<String>> {
    let mut options = Vec::new();
    let mut errors = Vec::new();
    let known = OptionName::all();
    for (key, value) in client.as_object().into_iter().flatten() {
        let long = kebab_case(key);
        let name = known.iter().find(|name| name.long == long);
        match (name, value) {
            // The settings of the editor's own extension.
            (None, _) if key == "path" || key == "trace" || key == "enable" => {}
            (None, _) => errors.push(format!("unknown setting `meshprobe.{key}`")),
            (Some(_), Value::Null | Value::Bool(false)) => {}
            (Some(name), value) => match values(value) {
                Some(values) if name.is_flag == values.is_empty() || value.is_array() => {
                    options.push((name.clone(), values));
                }
                Some(values) if values.is_empty() && !value.is_boolean() => {}
                _ => errors.push(format!("`{value}` is not a value for `meshprobe.{key}`")),
            },
        }
    }
    if errors.is_empty() {
        Ok(options)
    } else {
        Err(errors)
    }
}

/// Returns the values of an option: none for `true`, and `KEY=VALUE` for the entries of an object. Returns `None` for a
/// value of a wrong type.
fn values(value: &Value) -> Option<Vec<String>> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    };
    match value {
        Value::Bool(true) => Some(Vec::new()),
        Value::Array(items) => items.iter().map(text).collect(),
        Value::Object(entries) => entries
            .iter()
            .map(|(key, value)| Some(format!("{key}={}", text(value)?)))
            .collect(),
        _ => Some(vec![text(value)?]),
    }
}

/// Returns the name of the option for a setting: `mesh-version` for `meshVersion`.
fn kebab_case(key: &str) -> String {
    let mut name = String::with_capacity(key.len() + 2);
    for character in key.chars() {
        if character.is_ascii_uppercase() {
            name.push('-');
        }
        name.push(character.to_ascii_lowercase());
    }
    name
}

/// Returns the messages of an error, with their `help:` lines.
fn messages(stop: &Stop) -> Vec<String> {
    match stop {
        Stop::ClosedPipe => Vec::new(),
        Stop::Arguments(error) => vec![error.to_string()],
        Stop::Usage(messages) => messages.clone(),
        Stop::UsageWithHelp(message, help) => vec![format!("{message}\nhelp: {help}")],
    }
}

/// Returns the place in the configuration that a message starts with: `.meshprobe.yaml:3:5: …`.
fn place(message: &str, folder: &Path) -> Option<(PathBuf, u32, u32)> {
    CONFIG_NAMES.iter().find_map(|name| {
        let end = message.find(&format!("{name}:"))? + name.len();
        let mut parts = message.get(end + 1..)?.splitn(3, ':');
        let mut number = || parts.next()?.parse::<u32>().ok()?.checked_sub(1);
        let (line, column) = (number()?, number()?);
        Some((folder.join(message.get(..end)?), line, column))
    })
}
