//! A running `git cat-file`, which reads any number of objects.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;

use super::command::{Git, start_error};
use super::error::GitError;

/// A running `git cat-file`.
#[derive(Debug)]
pub(super) struct Batch {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// Answer for an object.
#[derive(Debug)]
pub(super) struct Answer {
    /// The full name of the object.
    pub(super) object: String,
    pub(super) length: u64,
    /// `None` if the object is longer than the caller wants to read.
    pub(super) bytes: Option<Vec<u8>>,
}

impl Batch {
    /// Starts the program.
    pub(super) fn start(git: &Git) -> Result<Self, GitError> {
        let mut child = git
            .command(&["cat-file", "--batch"])
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
            child,
        })
    }

    /// Reads an object, given by a name of one line. Returns the answer, which is `None` if the object is not known,
    /// and the program, which is `None` if it was ended so that a content of more than `limit` bytes is not read.
    ///
    /// # Errors
    /// The program ended, or its output is not as documented.
    pub(super) fn read(
        mut self,
        name: &str,
        limit: u64,
    ) -> io::Result<(Option<Answer>, Option<Self>)> {
        let requests = self.requests.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        requests.write_all(format!("{name}\n").as_bytes())?;
        requests.flush()?;
        let mut header = String::new();
        self.answers.read_line(&mut header)?;
        let Some((object, length)) = found(&header, name)? else {
            return Ok((None, Some(self)));
        };
        let mut answer = Answer {
            object: object.to_owned(),
            length,
            bytes: None,
        };
        if length > limit {
            return Ok((Some(answer), None));
        }
        let capacity = usize::try_from(length).map_err(io::Error::other)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(capacity)?;
        bytes.resize(capacity, 0);
        self.answers.read_exact(&mut bytes)?;
        self.answers.read_exact(&mut [0])?;
        answer.bytes = Some(bytes);
        Ok((Some(answer), Some(self)))
    }
}

/// Parses the first line of an answer, `OBJECT TYPE LENGTH`; returns `None` for `NAME missing` and `NAME ambiguous`.
fn found<'h>(header: &'h str, name: &str) -> io::Result<Option<(&'h str, u64)>> {
    let reason = header.strip_prefix(name).map(str::trim);
    if let Some("missing" | "ambiguous") = reason {
        return Ok(None);
    }
    let words: Vec<&str> = header.split_whitespace().collect();
    match words.as_slice() {
        [object, _, length] => Ok(Some((object, length.parse().map_err(io::Error::other)?))),
        _ => Err(io::Error::other("`git cat-file` ended without an answer")),
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
