//! Converts a panic to a report that a user can send: its message and location.
//!
//! The payload that `catch_unwind` returns has no location, and a panic on a thread of a pool is caught on another thread.
//! Therefore the panic hook records each panic here, and the code that catches the panic looks up its location.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

/// How many panics are recorded: more than can wait to be caught at the same time.
const REMEMBERED: usize = 64;

/// The maximum length of a message in characters. Some messages of the standard library quote the text that caused the
/// panic.
const LONGEST: usize = 400;

static RECENT: Mutex<VecDeque<Recorded>> = Mutex::new(VecDeque::new());

struct Recorded {
    thread: ThreadId,
    message: String,
    location: Option<String>,
}

/// The message and location of a panic. `Display` writes `location: message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PanicReport {
    /// The payload, shortened; may contain line breaks and control characters.
    pub message: String,
    /// `file:line:column` in the source code; `None` without [`record_panic`] in the panic hook.
    pub location: Option<String>,
}

impl PanicReport {
    /// Returns the report of a panic from the payload that was caught.
    #[must_use]
    pub fn of(payload: &(dyn Any + Send)) -> Self {
        let message = shortened(message_of(payload));
        let location = location_of(&message);
        Self { message, location }
    }
}

impl fmt::Display for PanicReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(location) = &self.location {
            write!(f, "{location}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// Returns the text of a `help:` line about how to report a panic. `input` describes the input to attach.
#[must_use]
pub fn how_to_report(input: &str) -> String {
    format!(
        "this is a bug in {} {}; please report it at {}/issues with this message, the command, \
         and {input}, reduced as far as possible; `RUST_BACKTRACE=1` adds a stack trace",
        "meshprobe",
        env!("CARGO_PKG_VERSION"),
        env!("CARGO_PKG_REPOSITORY"),
    )
}

/// Records a panic. The panic hook calls this function.
pub fn record_panic(info: &PanicHookInfo<'_>) {
    // Paths have the separators of the platform that built the binary.
    let location = info
        .location()
        .map(|location| location.to_string().replace('\\', "/"));
    let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    recent.truncate(REMEMBERED - 1);
    recent.push_front(Recorded {
        thread: thread::current().id(),
        message: shortened(message_of(info.payload())),
        location,
    });
}

/// Runs `work`.
///
/// # Errors
/// The report of the panic, if it panics.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, PanicReport> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| PanicReport::of(&*payload))
}

/// Finds the location of the latest panic with this message, preferably of this thread. Two threads of the
/// pool that panic with the same message can swap their locations: the pool hands a payload to the thread
/// that waits for it.
fn location_of(message: &str) -> Option<String> {
    let recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    let with_message = || recent.iter().filter(|panic| panic.message == message);
    let on_this_thread = with_message().find(|panic| panic.thread == thread::current().id());
    let latest = on_this_thread.or_else(|| with_message().next())?;
    latest.location.clone()
}

fn message_of(payload: &dyn Any) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
        .to_owned()
}

fn shortened(message: String) -> String {
    match message.char_indices().nth(LONGEST) {
        Some((end, _)) => message.get(..end).unwrap_or_default().to_owned() + "…",
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_of_any_type_has_a_message() {
        let message = |payload: Box<dyn Any + Send>| PanicReport::of(&*payload).message;
        assert_eq!(message(Box::new("text")), "text");
        assert_eq!(message(Box::new("text".to_owned())), "text");
        assert_eq!(message(Box::new(1)), "a panic without a message");
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let report = PanicReport::of(&"ä".repeat(LONGEST + 1));
        assert_eq!(report.message, "ä".repeat(LONGEST) + "…");
    }
}
