//! Shows the progress of long work on a terminal, and its duration with `--verbose`.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::args::Common;
use super::session::{OutputStream, Session};

use super::terminal::can_redraw;

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
