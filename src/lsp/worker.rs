//! The thread that analyses one folder of the workspace.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use gen_lsp_types::{Diagnostic, DiagnosticSeverity, Position, Range};
use lsp_server::Request;
use serde_json::Value;

use super::analysis::Analysis;
use super::jobs::{Change, Job, Next, collect};
use super::loader::{Plan, SettingsError};
use super::progress::Progress;
use super::publisher::Publisher;
use super::reload::{Loaded, load};
use super::root::{Root, innermost};
use super::shared::Shared;
use super::{diagnostics, requests};
use crate::engine::LiveCheck;

/// The stack size of a worker in bytes: large enough for documents as deep as the parser allows.
pub(super) const STACK: usize = 4 << 20;

/// The time after which diagnostics are published even if a later change is already waiting.
const LATEST: Duration = Duration::from_millis(500);

/// The thread that analyses one folder of the workspace.
pub(super) struct Worker {
    pub(super) root: Root,
    pub(super) shared: Arc<Shared>,
    pub(super) jobs: Receiver<Job>,
    /// The settings of the client.
    pub(super) settings: Value,
    pub(super) publisher: Publisher,
    /// The time at which diagnostics were published last.
    published: Instant,
    /// The problems with the settings that the user has seen.
    pub(super) problems: Vec<SettingsError>,
}

impl Worker {
    pub(super) fn new(root: Root, shared: Arc<Shared>, jobs: Receiver<Job>) -> Self {
        Self {
            root,
            shared,
            jobs,
            settings: Value::Null,
            publisher: Publisher::default(),
            published: Instant::now(),
            problems: Vec::new(),
        }
    }

    /// Loads the files. While the settings are not valid, the last valid ones apply; returns `None` if there are none.
    pub(super) fn reload(&mut self, previous: Option<Loaded>, change: &Change) -> Option<Loaded> {
        if let Some(settings) = &change.settings {
            self.settings = settings.clone();
        }
        let files = change.buffers.over_disk();
        let planned = self.shared.loader.plan(&self.root, &self.settings, &files);
        let problems = planned.as_ref().err().cloned().unwrap_or_default();
        if problems != self.problems {
            for problem in &problems {
                self.shared
                    .client
                    .show_error(format!("meshprobe: {}", problem.message));
            }
            self.problems = problems;
        }
        let plan = match (planned, &previous) {
            (Ok(plan), _) => plan,
            (Err(_), Some(previous)) => previous.plan.with_files(files),
            (Err(_), None) => return None,
        };
        if !plan.notes.is_empty() && previous.is_none() {
            self.shared.client.log(plan.notes.trim_end());
        }
        let pool = &self.shared.pool;
        Some(load(plan, previous, change, pool))
    }

    /// Returns whether diagnostics have to be published even if a later change is already waiting.
    pub(super) fn is_overdue(&self) -> bool {
        self.published.elapsed() > LATEST
    }

    /// Publishes the diagnostics, and answers requests until something changes. Returns `None` if the server ends.
    pub(super) fn serve(
        &mut self,
        mut live: LiveCheck<'_, '_>,
        plan: &Plan,
        (change, mut queries): (&Change, Vec<Request>),
        progress: &mut Option<Progress>,
    ) -> Option<Next> {
        (plan.suppress)(live.set, &mut live.outcome);
        let folder = self.root.folder.clone();
        let mut buffers = Arc::clone(&change.buffers);
        let mut waiting = match self.jobs.try_recv() {
            Ok(job) => Some(job),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => return None,
        };
        loop {
            let analysis = Analysis {
                folder: &folder,
                set: live.set,
                plan,
                outcome: &live.outcome,
                facts: live.facts,
                buffers: &buffers,
                supports: self.shared.client.supports,
            };
            let is_outdated = matches!(waiting, Some(Job::Change(_)));
            let is_pull = queries.iter().any(requests::is_pull);
            if !is_outdated || is_pull || self.is_overdue() {
                self.publish(&analysis);
            }
            *progress = None;
            for query in queries {
                self.answer(&analysis, query);
            }
            let next = loop {
                let job = waiting.take().map_or_else(|| self.jobs.recv(), Ok);
                match job {
                    Ok(Job::Query(query)) => self.answer(&analysis, query),
                    Ok(Job::Change(change)) => break collect(&self.jobs, change)?,
                    Err(_) => return None,
                }
            };
            // The text that is checked is often the same: a document is opened, saved, or not valid yet.
            if !next.change.keeps_contents(live.set) {
                return Some(next);
            }
            buffers = next.change.buffers;
            queries = next.queries;
        }
    }

    /// Answers a request.
    fn answer(&mut self, analysis: &Analysis<'_, '_>, request: Request) {
        match requests::is_pull(&request) {
            true => self.answer_pull(request),
            false => self.shared.answer(analysis, request),
        }
    }

    /// Answers a request about a folder that has never had valid settings.
    fn answer_without_analysis(&mut self, request: Request) {
        match requests::is_pull(&request) {
            true => self.answer_pull(request),
            false => self.shared.respond(request.id, Ok(Value::Null)),
        }
    }

    /// Answers a request for diagnostics from those that were computed last.
    fn answer_pull(&mut self, request: Request) {
        let answer = self.shared.unless_cancelled(&request.id, || {
            requests::typed(request.params, |params| self.publisher.report(&params))
        });
        self.shared.respond(request.id, answer);
    }

    /// Publishes the diagnostics of an analysis.
    fn publish(&mut self, analysis: &Analysis<'_, '_>) {
        let shared = &self.shared;
        let (root, publisher, problems) = (&self.root, &mut self.publisher, &self.problems);
        shared.pool.install(|| {
            let owns = |path: &Path| {
                let roots = shared.roots.read().unwrap_or_else(PoisonError::into_inner);
                innermost(roots.iter(), path).is_none_or(|innermost| innermost == root)
            };
            let found = diagnostics::of_analysis(analysis);
            let problems = problem_diagnostics(problems);
            publisher.publish(&shared.client, analysis, found, problems, owns);
        });
        self.published = Instant::now();
        shared.client.refresh();
    }

    /// Waits for the next change of a folder that has never had valid settings.
    pub(super) fn wait(&mut self, change: &Change, queries: Vec<Request>) -> Option<Next> {
        let problems = problem_diagnostics(&self.problems);
        self.publisher
            .publish_only(&self.shared.client, &change.buffers, problems);
        for query in queries {
            self.answer_without_analysis(query);
        }
        loop {
            match self.jobs.recv() {
                Ok(Job::Query(query)) => self.answer_without_analysis(query),
                Ok(Job::Change(change)) => return collect(&self.jobs, change),
                Err(_) => return None,
            }
        }
    }
}

/// Returns the diagnostics of problems with the configuration.
fn problem_diagnostics(problems: &[SettingsError]) -> Vec<(PathBuf, Diagnostic)> {
    let diagnostic = |problem: &SettingsError| {
        let (path, line, character) = problem.place.clone()?;
        let start = Position { line, character };
        let diagnostic = Diagnostic {
            range: Range { start, end: start },
            severity: Some(DiagnosticSeverity::Error),
            source: Some(diagnostics::SOURCE.to_owned()),
            message: problem.message.clone().into(),
            ..Diagnostic::default()
        };
        Some((path, diagnostic))
    };
    problems.iter().filter_map(diagnostic).collect()
}
