//! What the terminal can do, and the wishes of its user.

use crate::report::Look;

use super::args::ColorArg;
use super::session::{Output, Session};

/// The look of text that goes to a stream.
pub(super) fn look(session: &Session, stream: Output, color: ColorArg) -> Look {
    let terminal = session.is_terminal(stream);
    let dumb = is(session, "TERM", "dumb");
    let color = match color {
        ColorArg::Always => true,
        ColorArg::Never => false,
        ColorArg::Auto if set(session, "NO_COLOR") => false,
        ColorArg::Auto => set(session, "FORCE_COLOR") || (terminal && !dumb),
    };
    Look {
        width: width(terminal),
        terminal,
        color,
        unicode: (terminal || color) && !dumb && locale_is_unicode(session),
    }
}

/// Tells whether a line can be written over; only known for terminals.
pub(super) fn can_redraw(session: &Session) -> bool {
    !is(session, "TERM", "dumb") && session.variable("TERM").is_some()
}

fn width(terminal: bool) -> usize {
    let known = terminal.then(terminal_size::terminal_size).flatten();
    known.map_or(Look::PLAIN.width, |(width, _)| usize::from(width.0).max(40))
}

/// An unset locale is common in containers, whose terminals read UTF-8 all the same.
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

/// Returns whether output goes to the log of a CI system that takes some lines for commands.
pub(super) fn log_has_commands(session: &Session) -> bool {
    ["GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"]
        .iter()
        .any(|name| set(session, name))
}

/// Returns whether the run is part of a CI job: all systems in use set this variable.
pub(super) fn is_ci(session: &Session) -> bool {
    set(session, "CI") || log_has_commands(session)
}

/// As of no-color.org: set, and not empty.
fn set(session: &Session, name: &str) -> bool {
    session
        .variable(name)
        .is_some_and(|value| !value.is_empty())
}

fn is(session: &Session, name: &str, wanted: &str) -> bool {
    session.variable(name).is_some_and(|value| value == wanted)
}
