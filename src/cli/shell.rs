//! `meshprobe completions` and `meshprobe man`.

use clap::CommandFactory as _;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use meshprobe_mesh::finding::RuleId;
use meshprobe_mesh::settings::unknown_value_message;
use meshprobe_rules::symptoms;

use super::args::{Cli, ENVIRONMENT};
use super::session::Session;
use super::stop::Stop;
use meshprobe_engine::engine::{Exit, rule_names};

/// Prints the completion script of a shell, which also completes the ids of rules.
pub(super) fn completions(session: &Session, shell: Shell) -> Result<Exit, Stop> {
    let mut script = Vec::new();
    let mut command = with_rule_ids(Cli::command());
    clap_complete::generate(shell, &mut command, "meshprobe", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if shell == Shell::Fish {
        // For fish, clap completes the values of options only.
        let ids: Vec<&str> = rule_names().all().iter().map(|id| id.as_str()).collect();
        for (command, ids) in [("rule", ids), ("explain", symptom_ids().collect())] {
            script.push_str(&format!(
                "complete -c meshprobe -n \"__fish_meshprobe_using_subcommand {command}\" -f -a \"{}\"\n",
                ids.join(" ")
            ));
        }
    }
    session.print_data(&script)?;
    Ok(Exit::Success)
}

/// Iterates over the ids of the symptoms that `explain` accepts.
fn symptom_ids() -> impl Iterator<Item = &'static str> {
    symptoms::all().iter().map(|symptom| symptom.id)
}

/// Adds the ids of rules and symptoms to the arguments that accept them. The help does not list them, because they are
/// many.
fn with_rule_ids(command: clap::Command) -> clap::Command {
    let names = rule_names();
    let ids = |ids: &[RuleId]| PossibleValuesParser::new(ids.iter().map(|id| id.as_str()));
    let (all, reported) = (ids(names.all()), ids(names.reported()));
    command
        .mut_subcommand("rule", |rule| rule.mut_arg("id", |id| id.value_parser(all)))
        .mut_subcommand("explain", |explain| {
            let ids = PossibleValuesParser::new(symptom_ids());
            // `mut_arg` would move the text behind the paths.
            explain.mut_args(|argument| match argument.get_id().as_str() {
                "text" => argument.value_parser(ids.clone()),
                _ => argument,
            })
        })
        .mut_subcommand("check", |check| {
            ["select", "ignore"].into_iter().fold(check, |check, name| {
                check.mut_arg(name, |option| option.value_parser(reported.clone()))
            })
        })
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
