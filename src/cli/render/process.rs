//! Runs a renderer, with limits on its time and on its output.

use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use meshprobe_tree::source::{HELM_NOT_FOUND, io_error_reason, read_stream};

/// The time limit of a renderer, which may have to fetch a chart.
const TIME_LIMIT: Duration = Duration::from_secs(600);
/// The limit of messages that are read, in bytes.
const MESSAGE_LIMIT: u64 = 1 << 20;
/// The interval at which a renderer that has closed its output is checked for its end.
const PAUSE: Duration = Duration::from_millis(5);

/// The reason why a renderer returned no output.
pub(super) enum Failure {
    /// The program is not on the PATH.
    NotFound,
    /// The message of the renderer or of the system.
    Message(String),
}

impl Failure {
    /// Returns the message of a command that failed for `path`.
    pub(super) fn message(self, command: &str, path: &Path) -> String {
        let reason = match self {
            Self::NotFound => "it is not on the PATH".to_owned(),
            Self::Message(message) => message,
        };
        format!("`{command} {}` failed: {reason}", path.display())
    }
}

/// Runs helm, and returns its output.
///
/// # Errors
/// As [`output`], as a message about `chart`.
pub(super) fn helm_output(helm: &mut Command, chart: &Path) -> Result<Vec<u8>, String> {
    output(helm).map_err(|failure| match failure {
        Failure::NotFound => format!("cannot render `{}`: {HELM_NOT_FOUND}", chart.display()),
        failure => failure.message("helm template", chart),
    })
}

/// Runs a renderer, and returns its output.
///
/// # Errors
/// The program is missing or fails, prints more than 128 MiB, or does not end within ten minutes. It is then killed.
pub(super) fn output(command: &mut Command) -> Result<Vec<u8>, Failure> {
    output_within(command, TIME_LIMIT)
}

fn output_within(command: &mut Command, longest: Duration) -> Result<Vec<u8>, Failure> {
    let end = Instant::now() + longest;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => Failure::NotFound,
            _ => Failure::Message(io_error_reason(&error)),
        })?;
    // Both streams are read in parallel, because a full pipe would block the renderer. The threads are not joined,
    // because processes that the renderer has started may keep the streams open.
    let text = in_background(child.stdout.take(), read_stream);
    let messages = in_background(child.stderr.take(), |stream| {
        let mut bytes = Vec::new();
        stream.take(MESSAGE_LIMIT).read_to_end(&mut bytes)?;
        Ok(bytes)
    });
    let read = text.recv_timeout(longest);
    let finished = match read {
        Ok(Ok(text)) => wait(&mut child, end, longest).map(|status| (text, status)),
        Ok(Err(error)) => Err(Failure::Message(io_error_reason(&error))),
        Err(RecvTimeoutError::Timeout) => Err(too_long(longest)),
        Err(RecvTimeoutError::Disconnected) => {
            Err(Failure::Message("its output cannot be read".to_owned()))
        }
    };
    let (text, status) = finished.inspect_err(|_| {
        let _ = child.kill();
        let _ = child.wait();
    })?;
    if status.success() {
        return Ok(text);
    }
    let messages = messages
        .recv_timeout(Duration::from_secs(1))
        .ok()
        .and_then(Result::ok)
        .unwrap_or_default();
    let message = String::from_utf8_lossy(&messages)
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("; ");
    Err(Failure::Message(if message.is_empty() {
        status.to_string()
    } else {
        message
    }))
}

fn in_background<S: Read + Send + 'static>(
    stream: Option<S>,
    read: impl FnOnce(S) -> io::Result<Vec<u8>> + Send + 'static,
) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = channel();
    let work = move || {
        let read = stream.map_or_else(|| Ok(Vec::new()), read);
        // The receiver is dropped after the time limit.
        let _ = sender.send(read);
    };
    // If the thread does not start, the sender is dropped, which the receiver reports as a failure.
    let _ = std::thread::Builder::new().spawn(work);
    receiver
}

fn wait(child: &mut Child, end: Instant, longest: Duration) -> Result<ExitStatus, Failure> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if Instant::now() >= end => return Err(too_long(longest)),
            Ok(None) => std::thread::sleep(PAUSE),
            Err(error) => return Err(Failure::Message(io_error_reason(&error))),
        }
    }
}

fn too_long(longest: Duration) -> Failure {
    Failure::Message(format!("it did not end within {} s", longest.as_secs()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(line: &str, longest: u64) -> Result<String, String> {
        let done = output_within(
            Command::new("sh").args(["-c", line]),
            Duration::from_secs(longest),
        );
        match done {
            Ok(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
            Err(Failure::NotFound) => Err("not found".to_owned()),
            Err(Failure::Message(message)) => Err(message),
        }
    }

    #[test]
    fn output_and_messages_are_read_separately() {
        assert_eq!(shell("echo a; echo b >&2", 60), Ok("a\n".to_owned()));
        assert_eq!(shell("echo a; echo b >&2; exit 3", 60), Err("b".to_owned()));
    }

    #[test]
    fn a_renderer_that_does_not_end_is_killed() {
        let message = shell("sleep 600", 1).unwrap_err();
        assert_eq!(message, "it did not end within 1 s");
    }

    #[test]
    fn endless_output_is_rejected() {
        let message = shell("yes", 600).unwrap_err();
        assert_eq!(message, "it is larger than 128 MiB");
    }
}
