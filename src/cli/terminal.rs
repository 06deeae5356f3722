//! The capabilities of the terminal, and the settings of its user.

use std::ffi::OsStr;

use crate::report::TerminalStyle;

use super::args::ColorArg;
use super::session::{OutputStream, Session};

/// The minimum width of lines: words are not broken.
const LEAST_WIDTH: usize = 40;

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
        width: line_width(session, stream).unwrap_or(TerminalStyle::PLAIN.width),
        terminal,
        color,
        unicode: (terminal || color) && !dumb && locale_is_unicode(session),
    }
}

/// Returns whether the terminal can overwrite a line.
pub(super) fn can_redraw(session: &Session) -> bool {
    !is(session, "TERM", "dumb") && session.variable("TERM").is_some()
}

/// Returns the width of the lines of a stream: `COLUMNS`, else the width of the terminal; `None` for a pipe or a file.
pub(super) fn line_width(session: &Session, stream: OutputStream) -> Option<usize> {
    let columns = session.variable("COLUMNS").and_then(OsStr::to_str);
    let columns = columns.and_then(|columns| columns.parse().ok());
    let of_terminal = || {
        let is_terminal = session.is_terminal(stream);
        let size = is_terminal.then(terminal_size::terminal_size).flatten();
        size.map(|(width, _)| usize::from(width.0))
    };
    let width: usize = columns
        .filter(|columns| *columns > 0)
        .or_else(of_terminal)?;
    Some(width.max(LEAST_WIDTH))
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
