//! `meshprobe completions` and `meshprobe man`.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};

use clap::{Arg, CommandFactory as _, FromArgMatches as _};
use clap_complete::env::Shells;
use clap_complete::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate, Shell};
use meshprobe_mesh::finding::RuleId;
use meshprobe_mesh::settings::{FACT_KEYS, FailOn, fact_values, unknown_value_message};
use meshprobe_rules::symptoms;

use super::args::{Cli, Command, ENVIRONMENT};
use super::input::{Planned, RenderFallback, plan};
use super::session::Session;
use super::stop::Stop;
use super::threads::{cores, pool};
use meshprobe_engine::engine;
use meshprobe_engine::engine::{Exit, rule_names};

/// The variable with the name of a shell, which calls the program with `--` and the words of a line to complete.
pub(super) const COMPLETE: &str = "MESHPROBE_COMPLETE";

/// Prints the script that lets a shell call the program for completions.
pub(super) fn completions(session: &Session, shell: Shell) -> Result<Exit, Stop> {
    const NAME: &str = "meshprobe";
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(&shell.to_string()) {
        shell
            .write_registration(COMPLETE, NAME, NAME, NAME, &mut script)
            .map_err(|error| Stop::usage(error.to_string()))?;
    }
    session.print_data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}

/// Completes a word of a line for a shell. Prints nothing if the line is wrong or files cannot be read.
pub(super) fn complete(session: &Session, shell: &OsStr, arguments: &[OsString]) -> Exit {
    let words = arguments.iter().skip_while(|word| *word != "--").skip(1);
    let mut words: Vec<OsString> = words.cloned().collect();
    let shells = Shells::builtins();
    let shell = shell.to_str().and_then(|name| shells.completer(name));
    let Some(shell) = shell.filter(|_| !words.is_empty()) else {
        return Exit::Success;
    };
    // Bash and PowerShell insert a candidate as it is, although a name of the tree can contain a command.
    let escape = match shell.name() {
        "bash" => Some('\\'),
        "powershell" => Some('`'),
        _ => None,
    };
    if shell.name() == "bash" {
        join_values(&mut words);
    }
    let line = words.clone();
    let mut command = Cli::command()
        .mut_subcommands(|command| command.mut_args(|argument| with_values(argument, &line)));
    let mut candidates = Vec::new();
    let directory = session.directory().ok();
    // Neither a wrong line nor a closed stream is reported.
    let _ = shell.write_complete(&mut command, words, directory, &mut candidates);
    let candidates = String::from_utf8_lossy(&candidates);
    let _ = session.print_data(&match escape {
        Some(escape) => Cow::Owned(escaped(&candidates, escape)),
        None => candidates,
    });
    Exit::Success
}

/// Repeats an option instead of the `=` behind it, because bash passes `--cluster=a` as three words.
fn join_values(words: &mut [OsString]) {
    for at in 1..words.len() {
        if let Some([option, sign]) = words.get_mut(at - 1..=at)
            && sign == "="
        {
            sign.clone_from(option);
        }
    }
}

/// Returns candidates in which an escape character precedes each character that can have a meaning for a shell. A
/// description, which a tab precedes, is not inserted.
fn escaped(candidates: &str, escape: char) -> String {
    let mut text = String::new();
    for line in candidates.split_inclusive(['\n', '\u{b}']) {
        let (value, description) = line.split_at(line.find('\t').unwrap_or(line.len()));
        for character in value.chars() {
            if !character.is_alphanumeric() && !"-_./:=@%+,\n\u{b}".contains(character) {
                text.push(escape);
            }
            text.push(character);
        }
        text.push_str(description);
    }
    text
}

/// Adds the values that an argument of a line can have.
fn with_values(argument: Arg, line: &[OsString]) -> Arg {
    let candidates = |names: Vec<&'static str>| {
        let all = move || names.iter().map(CompletionCandidate::new).collect();
        ArgValueCandidates::new(all)
    };
    let ids = |ids: &[RuleId]| ids.iter().map(|id| id.as_str()).collect();
    match argument.get_id().as_str() {
        "id" => argument.add(candidates(ids(rule_names().all()))),
        "select" | "ignore" => argument.add(candidates(ids(rule_names().reported()))),
        "text" => argument.add(candidates(symptoms::all().iter().map(|it| it.id).collect())),
        "assume" | "overrides" => {
            argument.add(ArgValueCompleter::new(|word: &OsStr| facts(word, &[])))
        }
        "from" | "to" => argument.add(ArgValueCompleter::new(|word: &OsStr| {
            facts(word, &["mesh-version"])
        })),
        "overlay" | "cluster" => {
            let line = line.to_vec();
            argument.add(ArgValueCandidates::new(move || {
                environments(&line).unwrap_or_default()
            }))
        }
        _ => argument,
    }
}

/// Returns the keys of facts; after a key, its values.
fn facts(word: &OsStr, others: &[&str]) -> Vec<CompletionCandidate> {
    let word = word.to_string_lossy();
    let pairs: Vec<String> = match word.split_once('=') {
        Some((key, _)) => fact_values(key)
            .iter()
            .map(|value| format!("{key}={value}"))
            .collect(),
        None => FACT_KEYS
            .iter()
            .chain(others)
            .map(|key| format!("{key}="))
            .collect(),
    };
    let matching = pairs.into_iter().filter(|pair| pair.starts_with(&*word));
    matching.map(CompletionCandidate::new).collect()
}

/// Returns the names of the environments of the files that a line names. Runs no renderer, and reads no standard input.
fn environments(line: &[OsString]) -> Option<Vec<CompletionCandidate>> {
    // The language server has options of `check`, and reads the working directory.
    let line = line.iter().map(|word| match word == "lsp" {
        true => OsStr::new("check"),
        false => word,
    });
    let matches = Cli::command()
        .ignore_errors(true)
        .try_get_matches_from(line)
        .ok()?;
    let mut common = match Cli::from_arg_matches(&matches).ok()?.command? {
        Command::Check(args) => args.common,
        Command::Predict(args) => args.common,
        Command::Diff(args) => args.common,
        _ => return None,
    };
    common.paths.retain(|path| path.as_os_str() != "-");
    (common.kustomize, common.helm) = (Vec::new(), Vec::new());
    common.quiet = true;
    let session = Session::of_process();
    let files = session.files().clone();
    let Planned { layer, request, .. } =
        plan(&session, &common, RenderFallback::Files, None, files).ok()?;
    let settings = layer.resolved(FailOn::default());
    let pool = pool(common.threads.map_or_else(cores, usize::from)).ok()?;
    let predicted = pool.install(|| engine::predict(&engine::load(&request), &settings));
    predicted.workloads.as_ref()?;
    let names = predicted.environments.into_iter();
    Some(names.map(CompletionCandidate::new).collect())
}

/// Prints the manual page of a command. Without a name, prints the page of the program, then the pages of all commands.
///
/// # Errors
/// There is no command with this name.
pub(super) fn man(session: &Session, name: Option<&str>) -> Result<Exit, Stop> {
    let mut command = Cli::command();
    command.build();
    let subs = || {
        let subs = command.get_subcommands();
        subs.filter(|sub| sub.get_name() != "help")
    };
    let mut page = Vec::new();
    if name.is_none() {
        // The environment has a section of its own, and `help` no page.
        let program = command.clone().after_long_help(None::<&str>);
        page.extend(rendered(
            program.mut_subcommand("help", |help| help.hide(true)),
        )?);
        page.extend(environment());
    }
    for sub in subs().filter(|sub| name.is_none_or(|name| sub.get_name() == name)) {
        page.extend(rendered(sub.clone())?);
    }
    if let Some(name) = name.filter(|_| page.is_empty()) {
        let names: Vec<&str> = subs().map(clap::Command::get_name).collect();
        return Err(Stop::usage(unknown_value_message("command", name, &names)));
    }
    session.print_data(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Success)
}

fn rendered(command: clap::Command) -> Result<Vec<u8>, Stop> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Stop::usage(error.to_string()))?;
    Ok(page)
}

/// Returns the section about environment variables, as roff.
fn environment() -> Vec<u8> {
    let mut section = ".SH ENVIRONMENT\n".to_owned();
    for (names, effect) in ENVIRONMENT {
        let text = format!(".TP\n\\fB{names}\\fR\n{effect}\n");
        section.push_str(&text.replace('-', "\\-"));
    }
    section.into_bytes()
}
