//! What the terminal can do, and the wishes of its user.

use std::env;
use std::io::IsTerminal;

use crate::report::Look;

use super::args::ColorArg;

/// The look of text that goes to a stream.
pub(super) fn look(stream: &impl IsTerminal, color: ColorArg) -> Look {
    let terminal = stream.is_terminal();
    let dumb = is("TERM", "dumb");
    let color = match color {
        ColorArg::Always => true,
        ColorArg::Never => false,
        ColorArg::Auto if set("NO_COLOR") => false,
        ColorArg::Auto => set("FORCE_COLOR") || (terminal && !dumb),
    };
    Look {
        width: width(terminal),
        terminal,
        color,
        unicode: (terminal || color) && !dumb && locale_is_unicode(),
    }
}

/// Tells whether a line can be written over; only known for terminals.
pub(super) fn can_redraw() -> bool {
    !is("TERM", "dumb") && std::env::var_os("TERM").is_some()
}

fn width(terminal: bool) -> usize {
    let known = terminal.then(terminal_size::terminal_size).flatten();
    known.map_or(Look::PLAIN.width, |(width, _)| usize::from(width.0).max(40))
}

/// An unset locale is common in containers, whose terminals read UTF-8 all the same.
fn locale_is_unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()));
    locale.is_none_or(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// As of no-color.org: set, and not empty.
fn set(name: &str) -> bool {
    env::var_os(name).is_some_and(|value| !value.is_empty())
}

fn is(name: &str, wanted: &str) -> bool {
    env::var_os(name).is_some_and(|value| value == wanted)
}
