//! The capabilities of the terminal, and the settings of its user.

use crate::report::TerminalStyle;

use super::args::ColorArg;
use super::session::{OutputStream, Session};

/// Returns the style of text that is written to a stream.
pub(super) fn terminal_style(
    session: &Session,
    stream: OutputStream,
    color: ColorArg,
) -> TerminalStyle {
    let terminal = session.is_terminal(stream);
    let dumb = is(session, "TERM", "dumb");
    let color = match color {
        ColorArg::Always => true,
        ColorArg::Never => false,
        ColorArg::Auto if session.is_set("NO_COLOR") => false,
        ColorArg::Auto => session.is_set("FORCE_COLOR") || (terminal && !dumb),
    };
    TerminalStyle {
        width: width(terminal),
        terminal,
        color,
        unicode: (terminal || color) && !dumb && locale_is_unicode(session),
    }
}

/// Returns whether the terminal can overwrite a line.
pub(super) fn can_redraw(session: &Session) -> bool {
    !is(session, "TERM", "dumb") && session.variable("TERM").is_some()
}

fn width(terminal: bool) -> usize {
    terminal
        .then(terminal_size::terminal_size)
        .flatten()
        .map_or(TerminalStyle::PLAIN.width, |(width, _)| {
            usize::from(width.0).max(40)
        })
}

/// Returns whether the locale uses UTF-8. An unset locale is common in containers, whose terminals use UTF-8.
fn locale_is_unicode(session: &Session) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| session.variable(name)?.to_str())
        .find(|value| !value.is_empty());
    locale.is_none_or(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// Returns whether the run is part of a CI job: all systems in use set this variable.
pub(super) fn is_ci(session: &Session) -> bool {
    session.is_set("CI") || session.log_has_commands()
}

fn is(session: &Session, name: &str, wanted: &str) -> bool {
    session.variable(name).is_some_and(|value| value == wanted)
}
