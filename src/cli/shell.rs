//! `meshprobe completions` and `meshprobe man`.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::engine::Exit;

use super::args::Cli;
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
    let mut page = Vec::new();
    let mut render = |command: clap::Command| {
        let rendered = clap_mangen::Man::new(command).render(&mut page);
        rendered.map_err(|error| Stop::usage(error.to_string()))
    };
    render(command.clone())?;
    for sub in command
        .get_subcommands()
        .filter(|sub| sub.get_name() != "help")
    {
        render(sub.clone())?;
    }
    session.print(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Success)
}
