//! The capabilities of the terminal, the settings of its user, and the progress of long work.

use std::ffi::OsStr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::args::{ColorArg, Common};
use super::session::{OutputStream, Session};
use meshprobe_report::TerminalStyle;

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
        ColorArg::Auto => wanted_colors(session).unwrap_or(terminal && !dumb),
    };
    TerminalStyle {
        width: line_width(session, stream).unwrap_or(TerminalStyle::PLAIN.width),
        terminal,
        color,
        unicode: (terminal || color) && !dumb && locale_is_unicode(session),
    }
}

/// Returns whether the environment switches colours on or off: `NO_COLOR`, then `FORCE_COLOR` and `CLICOLOR_FORCE`, then
/// `CLICOLOR=0`. `CLICOLOR=1` is the default.
/// Source: no-color.org, force-color.org, bixense.com/clicolors.
fn wanted_colors(session: &Session) -> Option<bool> {
    let is_forced = session.is_set("CLICOLOR_FORCE") && !is(session, "CLICOLOR_FORCE", "0");
    if session.is_set("NO_COLOR") {
        Some(false)
    } else if session.is_set("FORCE_COLOR") || is_forced {
        Some(true)
    } else {
        is(session, "CLICOLOR", "0").then_some(false)
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

fn is(session: &Session, name: &str, wanted: &str) -> bool {
    session.variable(name).is_some_and(|value| value == wanted)
}

/// The interval of updates. Work that ends earlier is not shown.
const INTERVAL: Duration = Duration::from_secs(1);

/// Moves the cursor to the start of the line, and clears the line.
const CLEAR_LINE: &str = "\r\u{1b}[2K";

/// The parts of the progress that are shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    shown: bool,
    timed: bool,
}

impl Progress {
    /// Shows progress only on a terminal, and not with `--quiet`.
    pub(super) fn new(session: &Session, common: &Common) -> Self {
        Self {
            shown: !common.quiet
                && session.is_terminal(OutputStream::Stderr)
                && can_redraw(session),
            timed: common.verbose,
        }
    }

    /// Runs `work`, which `what` describes: "reading files".
    pub(super) fn during<T>(self, session: &Session, what: &str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = if self.shown {
            run_with_progress(session, what, work)
        } else {
            work()
        };
        if self.timed {
            session.errln(&format!(
                "time: {what} {:.3} s",
                start.elapsed().as_secs_f64()
            ));
        }
        result
    }
}

fn run_with_progress<T>(session: &Session, what: &str, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let (running, ended) = channel::<()>();
        scope.spawn(move || show_progress(session, what, &ended));
        // A panic drops the sender, too, and so ends the thread.
        let _running = running;
        work()
    })
}

/// Updates one line each second until the sender of `ended` is dropped.
fn show_progress(session: &Session, what: &str, ended: &Receiver<()>) {
    let mut seconds = 0_u32;
    while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
        seconds += 1;
        session.eprint(&format!("{CLEAR_LINE}meshprobe: {what}, {seconds} s"));
    }
    if seconds > 0 {
        session.eprint(CLEAR_LINE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_switch_colours_on_or_off() {
        let wanted = |variables: &[(&str, &str)]| {
            let session = Session::new("/".into(), std::io::empty(), Vec::new(), Vec::new());
            let set = |session: Session, (name, value): &(&str, &str)| {
                session.with_variable(*name, *value)
            };
            wanted_colors(&variables.iter().fold(session, set))
        };
        assert_eq!(wanted(&[]), None);
        assert_eq!(wanted(&[("CLICOLOR", "0")]), Some(false));
        assert_eq!(wanted(&[("CLICOLOR", "1")]), None);
        assert_eq!(wanted(&[("CLICOLOR_FORCE", "1")]), Some(true));
        assert_eq!(wanted(&[("CLICOLOR_FORCE", "0")]), None);
        let both = [("CLICOLOR_FORCE", "1"), ("CLICOLOR", "0")];
        assert_eq!(wanted(&both), Some(true));
        let all = [
            ("NO_COLOR", "1"),
            ("FORCE_COLOR", "1"),
            ("CLICOLOR_FORCE", "1"),
        ];
        assert_eq!(wanted(&all), Some(false));
        assert_eq!(
            wanted(&[("NO_COLOR", ""), ("FORCE_COLOR", "1")]),
            Some(true)
        );
    }
}
