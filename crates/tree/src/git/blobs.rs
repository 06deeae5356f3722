//! The contents of objects of one repository, read on demand.

use std::io;
use std::sync::{Mutex, PoisonError};

use hashbrown::HashMap;

use super::batch::{Answer, Batch};
use super::command::Git;

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
