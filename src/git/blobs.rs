//! The contents of objects of one repository, read on demand.

use std::io;
use std::sync::{Mutex, PoisonError};

use hashbrown::HashMap;

use super::batch::{Answer, Batch, Printed};
use super::command::Git;

/// The contents of objects of one repository, read on demand.
#[derive(Debug)]
pub(super) struct Blobs {
    git: Git,
    contents: Mutex<Option<Batch>>,
    lengths: Mutex<Lengths>,
}

#[derive(Debug, Default)]
struct Lengths {
    batch: Option<Batch>,
    known: HashMap<String, u64>,
}

impl Blobs {
    pub(super) fn new(git: Git) -> Self {
        Self {
            git,
            contents: Mutex::default(),
            lengths: Mutex::default(),
        }
    }

    /// Returns the length of an object in bytes; `None` if it is not stored.
    pub(super) fn length(&self, object: &str) -> io::Result<Option<u64>> {
        let mut lengths = self.lengths.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lengths.known.get(object) {
            return Ok(Some(*known));
        }
        let answer = self.ask(&mut lengths.batch, Printed::Lengths, object)?;
        let length = answer.map(|answer| answer.length);
        if let Some(length) = length {
            lengths.known.insert(object.to_owned(), length);
        }
        Ok(length)
    }

    /// Returns the bytes of an object; `None` if it is not stored.
    pub(super) fn bytes(&self, object: &str) -> io::Result<Option<Vec<u8>>> {
        let mut batch = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = self.ask(&mut batch, Printed::Contents, object)?;
        Ok(answer.map(|answer| answer.bytes))
    }

    /// Reads an object with a running program, or starts it. A program that failed is started again for the next
    /// object.
    fn ask(
        &self,
        running: &mut Option<Batch>,
        printed: Printed,
        object: &str,
    ) -> io::Result<Option<Answer>> {
        let mut batch = match running.take() {
            Some(batch) => batch,
            None => Batch::start(&self.git, printed).map_err(io::Error::other)?,
        };
        let answer = batch.read(object)?;
        *running = Some(batch);
        Ok(answer)
    }
}
