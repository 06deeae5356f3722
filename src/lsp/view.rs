//! The states of a folder that a worker serves, one after the other.

use std::sync::Arc;
use std::sync::mpsc::TryRecvError;

use lsp_server::Request;
use meshprobe_tree::source::SourceSet;

use super::jobs::{Change, Job, Next, collect};
use super::loader::Plan;
use super::progress::Progress;
use super::reload::Loaded;
use super::worker::Worker;
use crate::engine::{LiveCheck, LiveView, check_live};

impl Worker {
    /// Analyses the folder after each change until the server ends.
    pub(super) fn run(mut self, first: Change) {
        let name = self.root.folder.display().to_string();
        let title = format!("meshprobe: reading {name}");
        let mut progress = Some(Progress::begin(&self.shared.client, title.clone(), title));
        let mut previous: Option<Loaded> = None;
        let mut next = Some(Next {
            change: first,
            queries: Vec::new(),
        });
        while let Some(Next { change, queries }) = next {
            next = match self.reload(previous.take(), &change) {
                Some(loaded) => {
                    let Loaded {
                        plan,
                        set,
                        rendered,
                    } = loaded;
                    let settings = plan.settings.clone();
                    let shared = Arc::clone(&self.shared);
                    let arrived = Next { change, queries };
                    let mut view = View::new(&mut self, plan, arrived, progress.take());
                    let files = (set, rendered);
                    let (set, rendered) = check_live(files, &settings, &shared.pool, &mut view);
                    let (plan, next) = view.end();
                    previous = Some(Loaded {
                        plan,
                        set,
                        rendered,
                    });
                    next
                }
                None => {
                    progress = None;
                    self.wait(&change, queries)
                }
            };
        }
        self.publisher.clear(&self.shared.client);
    }
}

/// A worker that serves the states of its folder.
struct View<'w> {
    worker: &'w mut Worker,
    plan: Plan,
    /// Shown until the first diagnostics are published.
    progress: Option<Progress>,
    /// The change that has led to the state, and the requests that the state answers first.
    change: Change,
    queries: Vec<Request>,
    /// The next change, and its plan if it is an edit; `None` if the server ends.
    next: Option<Next>,
    next_plan: Option<Plan>,
}

impl<'w> View<'w> {
    /// Creates the view of the state that `arrived` has led to.
    fn new(worker: &'w mut Worker, plan: Plan, arrived: Next, progress: Option<Progress>) -> Self {
        let Next { change, queries } = arrived;
        Self {
            worker,
            plan,
            progress,
            change,
            queries,
            next: None,
            next_plan: None,
        }
    }

    /// Returns the plan of the last state, and the change after it; `None` if the server ends.
    fn end(self) -> (Plan, Option<Next>) {
        (self.plan, self.next)
    }

    /// Turns the edit that was announced into the present state.
    fn advance(&mut self) {
        if let Some(plan) = self.next_plan.take()
            && let Some(next) = self.next.take()
        {
            (self.plan, self.change) = (plan, next.change);
            self.queries.extend(next.queries);
        }
    }

    /// Sets the next change. Requests that the present state has not answered are answered after it.
    fn postpone(&mut self, change: Change) {
        self.next = collect(&self.worker.jobs, change).map(|next| {
            let mut queries = std::mem::take(&mut self.queries);
            queries.extend(next.queries);
            Next { queries, ..next }
        });
    }
}

impl LiveView for View<'_> {
    fn show(&mut self, live: LiveCheck<'_, '_>) {
        self.advance();
        let change = (&self.change, std::mem::take(&mut self.queries));
        let worker = &mut *self.worker;
        self.next = worker.serve(live, &self.plan, change, &mut self.progress);
    }

    fn edited(&mut self, set: &SourceSet) -> Option<SourceSet> {
        let change = &self.next.as_ref()?.change;
        if !change.is_of_contents() || !self.worker.problems.is_empty() {
            return None;
        }
        let files = change.buffers.over_disk();
        let edited = set.with_changed_contents(&change.paths, &files)?;
        let worker = &self.worker;
        let plan = worker
            .shared
            .loader
            .plan(&worker.root, &worker.settings, &files);
        let plan = plan.ok().filter(|plan| {
            plan.settings == self.plan.settings && plan.context_option == self.plan.context_option
        })?;
        self.next_plan = Some(plan);
        Some(edited)
    }

    fn is_outdated(&mut self, set: &SourceSet) -> bool {
        self.advance();
        while !self.worker.is_overdue() {
            match self.worker.jobs.try_recv() {
                Ok(Job::Query(query)) => self.queries.push(query),
                // The text that is checked is often the same: a document is saved, or not valid yet.
                Ok(Job::Change(change)) if change.keeps_contents(set) => {
                    self.change.buffers = change.buffers;
                }
                Ok(Job::Change(change)) => {
                    self.postpone(change);
                    return true;
                }
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => {
                    self.next = None;
                    return true;
                }
            }
        }
        false
    }
}
