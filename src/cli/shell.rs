//! `meshprobe completions` and `meshprobe man`.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::engine::Exit;

use super::args::{Cli, ENVIRONMENT};
use super::session::Session;
use super::stop::Stop;

/// Prints the completion script of a shell.
pub(super) fn completions(session: &Session, shell: Shell) -> Result<Exit, Stop> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "meshprobe", &mut script);
    session.print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}

/// Prints the manual page: the program, then each command with its options.
pub(super) fn man(session: &Session) -> Result<Exit, Stop> {
    let mut command = Cli::command();
    command.build();
    // The environment has a section of its own.
    let program = command.clone().after_long_help(None::<&str>);
    let mut page = rendered(program)?;
    page.extend(environment());
    for sub in command
        .get_subcommands()
        .filter(|sub| sub.get_name() != "help")
    {
        page.extend(rendered(sub.clone())?);
    }
    session.print(&String::from_utf8_lossy(&page))?;
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
