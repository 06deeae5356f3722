//! The thread that analyses one folder of the workspace.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use gen_lsp_types::{Diagnostic, DiagnosticSeverity, Position, Range};
use serde_json::Value;

use super::analysis::Analysis;
use super::jobs::{Change, Job, Next, Query, collect};
use super::loader::{Plan, SettingsError};
use super::progress::Progress;
use super::publisher::Publisher;
use super::reload::{Loaded, load};
use super::root::{Root, innermost};
use super::shared::Shared;
use super::{diagnostics, requests};
use crate::engine::{LiveCheck, LiveView, check_live};
use crate::source::SourceSet;

/// The stack size of a worker in bytes: large enough for documents as deep as the parser allows.
pub(super) const STACK: usize = 4 << 20;

/// The time after which diagnostics are published even if a later change is already waiting.
const LATEST: Duration = Duration::from_millis(500);

/// The thread that analyses one folder of the workspace.
pub(super) struct Worker {
    root: Root,
    shared: Arc<Shared>,
    jobs: Receiver<Job>,
    settings: Value,
    publisher: Publisher,
    published: Instant,
    /// The problems with the settings that the user has seen.
    problems: Vec<SettingsError>,
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
                    let mut view = View {
                        worker: &mut self,
                        plan,
                        progress: progress.take(),
                        change,
                        queries,
                        next: None,
                        next_plan: None,
                    };
                    let files = (set, rendered);
                    let (set, rendered) = check_live(files, &settings, &shared.pool, &mut view);
                    let View { plan, next, .. } = view;
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

    /// Loads the files. While the settings are not valid, the last valid ones apply; returns `None` if there are none.
    fn reload(&mut self, previous: Option<Loaded>, change: &Change) -> Option<Loaded> {
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

    /// Publishes the diagnostics, and answers requests until something changes. Returns `None` if the server ends.
    fn serve(
        &mut self,
        mut live: LiveCheck<'_, '_>,
        plan: &Plan,
        (change, mut queries): (&Change, Vec<Query>),
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
            let is_pull = queries.iter().any(Query::is_pull);
            if !is_outdated || is_pull || self.published.elapsed() > LATEST {
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
            let files = next.change.buffers.over_disk();
            let is_same =
                next.change.is_of_contents() && live.set.has_contents(&next.change.paths, &files);
            if !is_same {
                return Some(next);
            }
            buffers = next.change.buffers;
            queries = next.queries;
        }
    }

    /// Answers a request.
    fn answer(&mut self, analysis: &Analysis<'_, '_>, query: Query) {
        if let Some(Query::Document(request)) = self.pulled(query) {
            self.shared.answer(analysis, request);
        }
    }

    /// Answers a request about a folder that has never had valid settings.
    fn answer_without_analysis(&mut self, query: Query) {
        if let Some(Query::Document(request)) = self.pulled(query) {
            self.shared.respond(request.id, Ok(Value::Null));
        }
    }

    /// Answers a request for diagnostics from those that were published or computed last. Returns other requests.
    fn pulled(&mut self, query: Query) -> Option<Query> {
        match query {
            Query::Workspace(pull) => {
                let client = &self.shared.client;
                pull.add(self.publisher.pulled_by_workspace(client));
                None
            }
            Query::Document(request) if request.method == requests::DOCUMENT_DIAGNOSTICS => {
                let id = request.id;
                let answer = self.shared.unless_cancelled(&id, || {
                    requests::typed(request.params, |params| self.publisher.report(&params))
                });
                self.shared.respond(id, answer);
                None
            }
            query => Some(query),
        }
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
    fn wait(&mut self, change: &Change, queries: Vec<Query>) -> Option<Next> {
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

/// A worker that serves the states of its folder.
struct View<'w> {
    worker: &'w mut Worker,
    plan: Plan,
    /// Shown until the first diagnostics are published.
    progress: Option<Progress>,
    /// The change that has led to the state, and the requests that the state answers first.
    change: Change,
    queries: Vec<Query>,
    /// The next change, and its plan if it is an edit; `None` if the server ends.
    next: Option<Next>,
    next_plan: Option<Plan>,
}

impl LiveView for View<'_> {
    fn show(&mut self, live: LiveCheck<'_, '_>) {
        if let (Some(plan), Some(next)) = (self.next_plan.take(), self.next.take()) {
            (self.plan, self.change, self.queries) = (plan, next.change, next.queries);
        }
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
}
