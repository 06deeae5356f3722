//! `meshprobe completions` and `meshprobe man`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{Arg, CommandFactory as _, FromArgMatches as _};
use clap_complete::engine::complete as complete_word;
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
use meshprobe_engine::engine::{AnalysisRequest, Exit, rule_names};

/// The variable with the name of a shell, which calls the program with `--` and the words of a line to complete.
const COMPLETE: &str = "MESHPROBE_COMPLETE";

/// Prints the script that lets a shell call the program for completions.
pub(super) fn completions(session: &Session, shell: Shell) -> Result<Exit, Stop> {
    const NAME: &str = "meshprobe";
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(&shell.to_string()) {
        shell
            .write_registration(COMPLETE, NAME, NAME, NAME, &mut script)
            .map_err(|error| Stop::usage(error.to_string()))?;
    }
    let script = String::from_utf8_lossy(&script);
    session.print_data(&match shell {
        // Bash passes an empty word for `=` at the cursor. Without `set -f`, it can take an escaped candidate for a
        // pattern, and insert the name of the file that matches.
        Shell::Bash => script
            .replace(
                "[[ \"${BASH_VERSINFO[0]}\" -ge 4 ]]",
                "[[ \"${BASH_VERSINFO[0]}\" -ge 4 && \"${words[COMP_CWORD]}\" != \"=\" ]]",
            )
            .replace(
                "    local IFS=",
                "    local - 2> /dev/null && set -f\n    local IFS=",
            )
            .into(),
        // Zsh loads a file of its `fpath` at the first completion, which the file must then answer.
        Shell::Zsh => script
            .replace(
                "\ncompdef _clap_dynamic_completer_meshprobe meshprobe\n",
                "\nif [ \"$funcstack[1]\" = \"_meshprobe\" ]; then\n    \
                 _clap_dynamic_completer_meshprobe \"$@\"\nelse\n    \
                 compdef _clap_dynamic_completer_meshprobe meshprobe\nfi\n",
            )
            .into(),
        _ => script,
    })?;
    Ok(Exit::Success)
}

/// Returns the shell whose script calls the program. A variable that something else has set is ignored.
pub(super) fn requesting_shell(session: &Session, arguments: &[OsString]) -> Option<Shell> {
    let shell = session.variable(COMPLETE)?.to_str()?.parse().ok()?;
    (arguments.get(1)? == "--").then_some(shell)
}

/// Completes a word of a line for a shell. Prints nothing if the line is wrong or files cannot be read.
pub(super) fn complete(session: &Session, shell: Shell, arguments: &[OsString]) -> Exit {
    let mut words: Vec<OsString> = arguments.iter().skip(2).cloned().collect();
    let variable = |name| session.variable(name).and_then(OsStr::to_str);
    // Only these shells say which word is completed, and how candidates are separated.
    let is_indexed = matches!(shell, Shell::Bash | Shell::Elvish | Shell::Zsh);
    let mut index = variable("_CLAP_COMPLETE_INDEX")
        .and_then(|index| index.parse().ok())
        .filter(|_| is_indexed)
        .unwrap_or(words.len().saturating_sub(1));
    let separator = variable("_CLAP_IFS").filter(|_| is_indexed).unwrap_or("\n");
    if shell == Shell::Zsh && words.len() == index {
        words.push(OsString::new());
    }
    let mut prefix = String::new();
    if shell == Shell::Bash {
        (words, index, prefix) = joined(words, index);
    }
    let line = words.clone();
    let mut command = Cli::command()
        .mut_subcommands(|command| command.mut_args(|argument| with_values(argument, &line)));
    // Neither a wrong line nor a closed stream is reported.
    let candidates =
        complete_word(&mut command, words, index, session.directory().ok()).unwrap_or_default();
    let candidates: Vec<String> = candidates
        .iter()
        .filter_map(|candidate| formatted(candidate, shell, &prefix))
        .collect();
    let mut text = candidates.join(separator);
    if !is_indexed && !text.is_empty() {
        text.push('\n');
    }
    let _ = session.print_data(&text);
    Exit::Success
}

/// Joins the words around `=`, because bash passes `--cluster=a` as three words. Returns also the index of the word to
/// complete, and the text before the part of it that bash replaces.
fn joined(words: Vec<OsString>, index: usize) -> (Vec<OsString>, usize, String) {
    let mut joined: Vec<OsString> = Vec::new();
    let (mut place, mut prefix) = (index, String::new());
    let mut is_open = false;
    for (at, word) in words.into_iter().enumerate() {
        let is_sign = word == "=";
        let part = word.to_string_lossy().into_owned();
        match joined.last_mut() {
            Some(start) if is_sign || is_open => start.push(word),
            _ => joined.push(word),
        }
        is_open = is_sign && at != index;
        if at == index {
            place = joined.len() - 1;
            let whole = joined.last().map(|word| word.to_string_lossy());
            let whole = whole.unwrap_or_default();
            let part = if is_sign { "" } else { &part };
            prefix = whole.strip_suffix(part).unwrap_or_default().to_owned();
        }
    }
    (joined, place, prefix)
}

/// Returns a candidate as the script of a shell reads it; `None` if it does not continue `prefix`, or contains a
/// control character, such as the one that separates candidates.
fn formatted(candidate: &CompletionCandidate, shell: Shell, prefix: &str) -> Option<String> {
    let value = candidate.get_value().to_string_lossy();
    let value = value
        .strip_prefix(prefix)
        .filter(|value| !value.contains(char::is_control))?;
    // A name of the tree can contain a command. Bash and PowerShell insert a candidate as it is.
    let mut text = match shell {
        Shell::Bash => escaped(value, '\\'),
        Shell::PowerShell => escaped(value, '`'),
        Shell::Zsh => value.replace('\\', "\\\\").replace(':', "\\:"),
        _ => value.to_owned(),
    };
    let help = candidate.get_help().map(ToString::to_string);
    if let Some(help) = help.as_deref().and_then(|help| help.lines().next()) {
        match shell {
            Shell::Fish | Shell::PowerShell => text.extend(["\t", help]),
            Shell::Zsh => text.extend([":", &help.replace('\\', "\\\\")]),
            _ => {}
        }
    }
    Some(text)
}

/// Returns a value in which an escape character precedes each character that can have a meaning for a shell.
fn escaped(value: &str, escape: char) -> String {
    let mut text = String::new();
    for character in value.chars() {
        if !character.is_alphanumeric() && !"-_./:=@%+,".contains(character) {
            text.push(escape);
        }
        text.push(character);
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

/// Returns the names of the environments of the files that a line names. Runs no renderer, and reads neither standard
/// input nor anything else that can block.
fn environments(line: &[OsString]) -> Option<Vec<CompletionCandidate>> {
    let mut line = line.to_vec();
    let command = line
        .iter_mut()
        .skip(1)
        .find(|word| !word.as_encoded_bytes().starts_with(b"-"));
    // The language server has options of `check`, and reads the working directory.
    if let Some(command) = command.filter(|command| *command == "lsp") {
        *command = OsString::from("check");
    }
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
    let session = Session::of_process();
    let directory = session.directory().ok()?;
    let metadata = |path: &Path| std::fs::metadata(directory.join(path)).ok();
    let is_readable = |path: &Path| {
        let readable = metadata(path).filter(|it| it.is_file() || it.is_dir());
        path.as_os_str() != "-" && readable.is_some()
    };
    let reads_directory = common.paths.is_empty() && !common.renders();
    common.paths.retain(|path| is_readable(path));
    common.context.retain(|path| is_readable(path));
    let is_config = |path: &PathBuf| metadata(path).is_some_and(|it| it.is_file());
    if common.paths.is_empty() && !reads_directory || !common.config.iter().all(is_config) {
        return None;
    }
    (common.kustomize, common.helm) = (Vec::new(), Vec::new());
    common.quiet = true;
    let files = session.files().clone();
    let Planned { layer, request, .. } =
        plan(&session, &common, RenderFallback::Files, None, files).ok()?;
    let settings = layer.resolved(FailOn::default());
    let pool = pool(common.threads.map_or_else(cores, usize::from)).ok()?;
    let predicted =
        pool.install(|| engine::predict(&AnalysisRequest::new(&engine::load(&request), &settings)));
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
