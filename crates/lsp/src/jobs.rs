//! What the main thread passes to the worker of a folder.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use lsp_server::Request;
use serde_json::Value;

use super::buffers::Buffers;

/// The time without another change after which an analysis starts: changes that the client sends together are analysed
/// together.
const QUIET: Duration = Duration::from_millis(3);

/// A job of a worker.
pub(super) enum Job {
    /// Something has changed.
    Change(Change),
    /// The client has sent a request about a document of the folder.
    Query(Request),
}

/// What has changed since the last job.
#[derive(Clone, Debug, Default)]
pub(super) struct Change {
    /// All open documents.
    pub(super) buffers: Arc<Buffers>,
    /// The resolved paths whose content has changed.
    pub(super) paths: Vec<PathBuf>,
    /// Whether files may have been created or deleted.
    pub(super) files: bool,
    /// Whether any file may have changed, because the client does not watch files.
    pub(super) anything: bool,
    /// The new settings of the client; `None` if they have not changed.
    pub(super) settings: Option<Value>,
}

impl Change {
    /// Returns whether only the contents of the named files have changed.
    pub(super) const fn is_of_contents(&self) -> bool {
        !self.files && !self.anything && self.settings.is_none()
    }

    /// Adds a later change.
    fn add(&mut self, later: Self) {
        self.buffers = later.buffers;
        self.paths.extend(later.paths);
        self.files |= later.files;
        self.anything |= later.anything;
        self.settings = later.settings.or(self.settings.take());
    }
}

/// A change, and the requests that the analysis after it answers.
pub(super) struct Next {
    pub(super) change: Change,
    pub(super) queries: Vec<Request>,
}

/// Waits for the changes that follow `first`. Returns `None` if the server ends.
pub(super) fn collect(jobs: &Receiver<Job>, first: Change) -> Option<Next> {
    let mut next = Next {
        change: first,
        queries: Vec::new(),
    };
    loop {
        match jobs.recv_timeout(QUIET) {
            Ok(Job::Change(change)) => next.change.add(change),
            Ok(Job::Query(query)) => next.queries.push(query),
            Err(RecvTimeoutError::Timeout) => return Some(next),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}
