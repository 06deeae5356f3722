//! The folders of the workspace, each with its worker thread.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use gen_lsp_types::Uri;

use super::jobs::{Change, Job};
use super::loader::{Root, innermost};
use super::shared::Shared;
use super::worker::{STACK, Worker};

/// A folder of the workspace.
#[derive(Debug)]
pub(super) struct Workspace {
    /// The URI that the client names.
    pub(super) uri: Uri,
    /// What is checked.
    pub(super) root: Root,
    jobs: Sender<Job>,
    thread: JoinHandle<()>,
}

impl Workspace {
    /// Passes a job to the worker of the folder.
    pub(super) fn send(&self, job: Job) {
        // A worker only ends when the server does.
        let _ = self.jobs.send(job);
    }
}

/// The folders of the workspace.
#[derive(Debug, Default)]
pub(super) struct Workspaces {
    all: Vec<Workspace>,
}

impl Workspaces {
    /// Starts the worker of a folder, unless the folder is already part of the workspace.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn add(
        &mut self,
        uri: Uri,
        root: Root,
        shared: &Arc<Shared>,
        first: Change,
    ) -> io::Result<()> {
        if self.all.iter().any(|known| known.root == root) {
            return Ok(());
        }
        let (jobs, receiver) = channel();
        let worker = Worker::new(root.clone(), Arc::clone(shared), receiver);
        let thread = std::thread::Builder::new()
            .name("lsp-worker".to_owned())
            .stack_size(STACK)
            .spawn(move || worker.run(first))?;
        self.all.push(Workspace {
            uri,
            root,
            jobs,
            thread,
        });
        Ok(())
    }

    /// Ends the worker of a folder.
    pub(super) fn remove(&mut self, root: &Root) {
        let all = std::mem::take(&mut self.all).into_iter();
        let (removed, kept) = all.partition(|known| known.root == *root);
        self.all = kept;
        end(removed);
    }

    /// Ends all workers.
    pub(super) fn end(&mut self) {
        end(std::mem::take(&mut self.all));
    }

    /// Iterates over the folders.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Workspace> {
        self.all.iter()
    }

    /// Returns the innermost folder that contains a path.
    pub(super) fn of(&self, path: &Path) -> Option<&Workspace> {
        let root = innermost(self.all.iter().map(|known| &known.root), path)?;
        self.all.iter().find(|known| known.root == *root)
    }

    /// Sends a change to all folders, because a file may state facts about each of them.
    pub(super) fn broadcast(&self, change: &Change) {
        for known in &self.all {
            known.send(Job::Change(change.clone()));
        }
    }
}

fn end(workspaces: Vec<Workspace>) {
    for workspace in workspaces {
        drop(workspace.jobs);
        // A panic of a worker leaves nothing to do here.
        let _ = workspace.thread.join();
    }
}
