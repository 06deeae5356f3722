//! Isolates a panic on one file from the other files, and reports it with its message and location.
//!
//! The payload that `catch_unwind` returns has no location, and a panic on a thread of a pool is caught on another thread.
//! Therefore the panic hook records each panic here, and the code that catches the panic looks up its location.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use std::{fmt, thread};

use meshprobe_mesh::finding::{Finding, Label, Severity};
use meshprobe_rules::rules::notices::INTERNAL_ERROR;
use meshprobe_tree::source::{Role, SourceSet};
use meshprobe_yaml::Span;

#[cfg(debug_assertions)]
use super::planted_panic;

/// A result, and the files that were excluded from it.
#[derive(Debug)]
pub(crate) struct Isolated<T> {
    /// The result; the default if no file could be processed.
    pub(crate) value: T,
    /// One finding per excluded file.
    pub(crate) faults: Vec<Finding>,
}

/// Runs `run` on all files. If it panics, runs it on each file, and then on all files on which it did not panic.
pub(crate) fn isolate_panics<T: Default>(
    set: &SourceSet,
    run: impl Fn(&SourceSet) -> T,
) -> Isolated<T> {
    let attempt = |set: &SourceSet| {
        catch_panic(|| {
            #[cfg(debug_assertions)]
            trip_planted(set);
            run(set)
        })
    };
    if let Ok(value) = attempt(set) {
        return Isolated {
            value,
            faults: Vec::new(),
        };
    }
    let mut faults = Vec::new();
    let mut good = Vec::new();
    for file in &set.files {
        match attempt(&set.with_files(vec![file.clone()])) {
            Ok(_) => good.push(file.clone()),
            Err(_) if file.role == Role::Repository => {}
            Err(panic) => faults.push(fault(&file.path, &panic.to_string())),
        }
    }
    match attempt(&set.with_files(good)) {
        Ok(value) => Isolated { value, faults },
        // Only several files together cause the panic, so it is reported for all of them.
        Err(panic) => Isolated {
            value: T::default(),
            faults: faults_of_all(set, &panic),
        },
    }
}

/// Panics if a panic was planted for a file.
#[cfg(debug_assertions)]
fn trip_planted(set: &SourceSet) {
    let paths = set.files.iter().map(|file| &file.path);
    paths.for_each(|path| planted_panic::trip("check", path));
}

fn faults_of_all(set: &SourceSet, panic: &PanicReport) -> Vec<Finding> {
    let panic = panic.to_string();
    set.targets()
        .map(|file| fault(&file.path, &panic))
        .collect()
}

/// Returns the finding for a file on which meshprobe panicked; `panic` has the location and the
/// message of the panic.
pub(super) fn fault(path: &Arc<str>, panic: &str) -> Finding {
    let label = Label {
        path: Arc::clone(path),
        span: Span::empty(0),
        message: String::new(),
    };
    let message =
        format!("meshprobe panicked on this file, which was therefore not checked: {panic}");
    let mut finding = Finding::new(INTERNAL_ERROR, Severity::Error, label, message);
    finding.help = Some(how_to_report("the file"));
    finding
}

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
    use meshprobe_tree::source::SourceFile;

    use super::*;

    fn set(names: &[&str]) -> SourceSet {
        let file = |name: &&str| SourceFile::new(Arc::from(*name), Arc::from("a: 1\n"));
        SourceSet::new(names.iter().map(file).collect())
    }

    fn names(set: &SourceSet) -> Vec<String> {
        set.files.iter().map(|file| file.path.to_string()).collect()
    }

    #[test]
    fn a_file_that_causes_a_panic_is_excluded() {
        let isolated = isolate_panics(&set(&["a", "bad", "c"]), |set| {
            assert!(!names(set).contains(&"bad".to_owned()));
            names(set)
        });
        assert_eq!(isolated.value, ["a", "c"]);
        assert_eq!(isolated.faults.len(), 1);
        assert_eq!(&*isolated.faults[0].primary.path, "bad");
    }

    #[test]
    fn a_panic_that_several_files_cause_together_is_reported_for_all() {
        let isolated = isolate_panics(&set(&["a", "b"]), |set| {
            assert!(set.files.len() < 2);
            names(set)
        });
        assert!(isolated.value.is_empty());
        assert_eq!(isolated.faults.len(), 2);
    }

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
