//! Tells on a terminal that long work goes on, and with `--verbose` how long it took.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::args::Common;
use super::session::{Output, Session};

use super::terminal::can_redraw;

/// Work that is done before is not worth a word.
const PATIENCE: Duration = Duration::from_secs(1);

/// Returns to the start of the line and empties it.
const EMPTY_LINE: &str = "\r\u{1b}[2K";

/// What the user wants to know while work goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    shown: bool,
    timed: bool,
}

impl Progress {
    /// Nothing is shown in pipes, files and hooks, nor where nobody wants to know.
    pub(super) fn new(session: &Session, common: &Common) -> Self {
        Self {
            shown: !common.quiet && session.is_terminal(Output::Stderr) && can_redraw(session),
            timed: common.verbose,
        }
    }

    /// Does the work; `what` says which, as in "reading files".
    pub(super) fn during<T>(self, session: &Session, what: &str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = if self.shown {
            watched(session, what, work)
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

fn watched<T>(session: &Session, what: &str, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let (done, until) = channel::<()>();
        scope.spawn(move || tell(session, what, &until));
        // A panic drops it as well.
        let _done = done;
        work()
    })
}

/// Rewrites one line each second until the other end is gone.
fn tell(session: &Session, what: &str, until: &Receiver<()>) {
    let mut seconds = 0_u32;
    while until.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
        seconds += 1;
        session.eprint(&format!("{EMPTY_LINE}meshprobe: {what}, {seconds} s"));
    }
    if seconds > 0 {
        session.eprint(EMPTY_LINE);
    }
}
