//! A running `git cat-file`, which reads any number of objects.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;

use super::command::{Git, start_error};
use super::error::GitError;

/// Option of `git cat-file`: whether it prints contents, or only lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Printed {
    Contents,
    Lengths,
}

/// A running `git cat-file`.
#[derive(Debug)]
pub(super) struct Batch {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    printed: Printed,
}

/// Answer for an object.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) length: u64,
    /// Empty if only the length was requested.
    pub(super) bytes: Vec<u8>,
}

impl Batch {
    /// Starts the program.
    pub(super) fn start(git: &Git, printed: Printed) -> Result<Self, GitError> {
        let option = match printed {
            Printed::Contents => "--batch",
            Printed::Lengths => "--batch-check",
        };
        let mut child = git
            .command(&["cat-file", option])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| start_error(&error))?;
        // The program would wait for a reader of its messages. They are not needed: a missing object has an answer.
        if let Some(mut messages) = child.stderr.take() {
            let drain = move || io::copy(&mut messages, &mut io::sink());
            let _ = thread::Builder::new().spawn(drain);
        }
        let requests = child.stdin.take();
        let answers = child.stdout.take().map(BufReader::new);
        let unstarted = || GitError::UnexpectedOutput("cat-file".to_owned());
        Ok(Self {
            requests,
            answers: answers.ok_or_else(unstarted)?,
            printed,
            child,
        })
    }

    /// Reads an object, given by its full name. Returns `None` if it is not stored.
    ///
    /// # Errors
    /// The program ended, or its output is not as documented.
    pub(super) fn read(&mut self, object: &str) -> io::Result<Option<Answer>> {
        let requests = self.requests.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(requests, "{object}")?;
        requests.flush()?;
        let mut header = String::new();
        self.answers.read_line(&mut header)?;
        let mut words = header.split_whitespace().skip(1);
        let length = match (words.next(), words.next()) {
            (Some("missing"), None) => return Ok(None),
            (Some(_), Some(length)) => length.parse().map_err(io::Error::other)?,
            _ => return Err(io::Error::other("`git cat-file` ended without an answer")),
        };
        let mut bytes = Vec::new();
        if self.printed == Printed::Contents {
            let capacity = usize::try_from(length).map_err(io::Error::other)?;
            bytes.try_reserve_exact(capacity)?;
            bytes.resize(capacity, 0);
            self.answers.read_exact(&mut bytes)?;
            self.answers.read_exact(&mut [0])?;
        }
        Ok(Some(Answer { length, bytes }))
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // The program ends with its input.
        self.requests = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
