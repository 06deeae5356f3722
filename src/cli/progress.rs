//! Tells on a terminal that long work goes on, and with `--verbose` how long it took.

use std::io::IsTerminal as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::args::Common;
use super::output::{eprint, errln};
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
    pub(super) fn new(common: &Common) -> Self {
        let stderr = std::io::stderr();
        Self {
            shown: !common.quiet && stderr.is_terminal() && can_redraw(),
            timed: common.verbose,
        }
    }

    /// Does the work; `what` says which, as in "reading files".
    pub(super) fn during<T>(self, what: &str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = if self.shown {
            watched(what, work)
        } else {
            work()
        };
        if self.timed {
            errln(&format!(
                "time: {what} {:.3} s",
                start.elapsed().as_secs_f64()
            ));
        }
        result
    }
}

fn watched<T>(what: &str, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let (done, until) = channel::<()>();
        scope.spawn(move || tell(what, &until));
        // A panic drops it as well.
        let _done = done;
        work()
    })
}

/// Rewrites one line each second until the other end is gone.
fn tell(what: &str, until: &Receiver<()>) {
    let mut seconds = 0_u32;
    while until.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
        seconds += 1;
        eprint(&format!("{EMPTY_LINE}meshprobe: {what}, {seconds} s"));
    }
    if seconds > 0 {
        eprint(EMPTY_LINE);
    }
}
