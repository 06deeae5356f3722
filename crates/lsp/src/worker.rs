//! The thread that analyses one folder of the workspace, and serves its states one after the other.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use gen_lsp_types::{Diagnostic, DiagnosticSeverity, Position, Range};
use lsp_server::Request;
use meshprobe_tree::git::ChangedPaths;
use meshprobe_tree::source::{self, SharedFiles, SourceSet};
use rayon::ThreadPool;
use serde_json::Value;

use super::analysis::Analysis;
use super::client::Progress;
use super::jobs::{Change, Job, Next, collect};
use super::loader::{Plan, Root, SettingsError, innermost};
use super::publisher::Publisher;
use super::shared::Shared;
use super::{diagnostics, requests};
use meshprobe_engine::engine;
use meshprobe_engine::engine::{LiveCheck, LiveView, RenderedOverlays, check_live};

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

/// The files of a folder, with their renderings.
pub(super) struct Loaded {
    pub(super) plan: Plan,
    pub(super) set: SourceSet,
    pub(super) rendered: RenderedOverlays<'static>,
}

/// Loads the files of a plan. Files of `previous` are used again unless they are among the changed paths.
pub(super) fn load(
    plan: Plan,
    previous: Option<Loaded>,
    change: &Change,
    pool: &ThreadPool,
) -> Loaded {
    let (set, rendered) = pool.install(|| {
        let set = read(&plan, previous.as_ref(), change);
        let rendered = match previous {
            Some(Loaded {
                set: before,
                rendered,
                ..
            }) => RenderedOverlays::after(&set, (&before, rendered)),
            None => RenderedOverlays::default(),
        };
        (set, rendered)
    });
    Loaded {
        plan,
        set,
        rendered,
    }
}

fn read(plan: &Plan, previous: Option<&Loaded>, change: &Change) -> SourceSet {
    if let Some(previous) = previous.filter(|_| change.is_of_contents()) {
        let files = &plan.request.filesystem;
        if let Some(set) = previous.set.with_changed_contents(&change.paths, files) {
            return set;
        }
    }
    let shared = previous.filter(|_| !change.anything).map(|previous| {
        let changed = ChangedPaths::of_files(change.paths.iter().cloned());
        Arc::new(SharedFiles::new(&previous.set, changed))
    });
    let mut set = engine::load(&source::Request {
        shared,
        ..plan.request.clone()
    });
    set.context_option = plan.context_option.clone();
    set
}
