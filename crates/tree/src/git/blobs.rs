//! The contents of objects of one repository, read on demand by a running `git cat-file`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Mutex, PoisonError};
use std::{io, thread};

use hashbrown::HashMap;

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

/// Maximum length in bytes of an object whose content is read together with its length.
pub(super) const EAGER: u64 = 1 << 20;

/// The contents of objects of one repository, read on demand.
#[derive(Debug)]
pub(super) struct Blobs {
    git: Git,
    running: Mutex<Running>,
}

#[derive(Debug, Default)]
struct Running {
    batch: Option<Batch>,
    /// The lengths of the objects that were read, by their names.
    lengths: HashMap<String, u64>,
}

impl Blobs {
    pub(super) fn new(git: Git) -> Self {
        Self {
            git,
            running: Mutex::default(),
        }
    }

    /// Returns the length of an object in bytes; `None` if it is not stored.
    pub(super) fn length(&self, object: &str) -> io::Result<Option<u64>> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = running.lengths.get(object) {
            return Ok(Some(*known));
        }
        drop(running);
        Ok(self.find(object)?.map(|found| found.length))
    }

    /// Returns the object with a name, without its content if it is longer than [`EAGER`]; `None` if it is not known.
    /// The name is that of an object or of a revision, without a line break.
    pub(super) fn find(&self, name: &str) -> io::Result<Option<Answer>> {
        self.read(name, EAGER)
    }

    /// Returns the bytes of an object; `None` if it is not stored.
    pub(super) fn bytes(&self, object: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(self.read(object, u64::MAX)?.and_then(|answer| answer.bytes))
    }

    /// Ends the program, which is started again for the next object.
    pub(super) fn end(&self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.batch = None;
    }

    /// Reads an object with a running program, or starts it. A program that failed is started again for the next
    /// object.
    fn read(&self, name: &str, limit: u64) -> io::Result<Option<Answer>> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let batch = match running.batch.take() {
            Some(batch) => batch,
            None => Batch::start(&self.git).map_err(io::Error::other)?,
        };
        let (answer, batch) = batch.read(name, limit)?;
        running.batch = batch;
        if let Some(answer) = &answer {
            running.lengths.insert(answer.object.clone(), answer.length);
        }
        Ok(answer)
    }
}
