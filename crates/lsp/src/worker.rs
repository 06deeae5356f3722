//! The thread that analyses one folder of the workspace, its jobs, and its states one after the other.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gen_lsp_types::{Diagnostic, DiagnosticSeverity, Position, Range};
use lsp_server::Request;
use meshprobe_engine::engine;
use meshprobe_engine::engine::{AnalysisRequest, Rendering, analyse, rendered};
use meshprobe_tree::git::ChangedPaths;
use meshprobe_tree::source;
use meshprobe_tree::source::{SharedFiles, SourceSet};
use serde_json::Value;

use crate::analysis::Analysis;
use crate::buffers::Buffers;
use crate::client::Progress;
use crate::client::locked;
use crate::loader::{Plan, Root, SettingsError, innermost};
use crate::publisher::Publisher;
use crate::shared::{Shared, cancelled};
use crate::{diagnostics, publisher, requests};

/// The stack size of a worker in bytes: large enough for documents as deep as the parser allows.
pub(super) const STACK: usize = 4 << 20;

/// The thread that analyses one folder of the workspace.
pub(super) struct Worker {
    pub(super) root: Root,
    pub(super) shared: Arc<Shared>,
    pub(super) jobs: Receiver<Job>,
    /// The settings of the client.
    pub(super) settings: Value,
    /// Shared with the main thread, which ends it with the folder while the worker may still be analysing.
    pub(super) publisher: Arc<Mutex<Publisher>>,
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
            publisher: Arc::default(),
            problems: Vec::new(),
        }
    }

    /// Analyses the folder after each change until the server ends.
    pub(super) fn run(mut self, first: Change) {
        let name = self.root.folder.display().to_string();
        let title = format!("meshprobe: reading {name}");
        let mut progress = Some(Progress::begin(&self.shared.client, title));
        let mut previous: Option<State> = None;
        let mut next = Some(Next {
            change: first,
            queries: Vec::new(),
        });
        while let Some(Next { change, queries }) = next {
            let state = self.analyse(previous.take(), &change);
            next = match &state {
                Some(state) => {
                    self.publish(&state.analysis);
                    progress = None;
                    self.serve(&state.analysis, queries)
                }
                None => {
                    progress = None;
                    self.wait(&change, queries)
                }
            };
            previous = state;
        }
        drop(progress);
    }

    /// Returns whether the folder was removed.
    fn is_ended(&self) -> bool {
        locked(&self.publisher).is_ended()
    }

    /// Analyses the folder after a change. While the settings are not valid, the last valid ones apply; returns `None` if
    /// the settings were never valid, or if the folder was removed.
    fn analyse(&mut self, previous: Option<State>, change: &Change) -> Option<State> {
        if self.is_ended() {
            return None;
        }
        let plan = self.plan(previous.as_ref(), change)?;
        let shared = Arc::clone(&self.shared);
        let publisher = Arc::clone(&self.publisher);
        let proceed = || (!locked(&publisher).is_ended()).then_some(());
        shared.pool.install(|| {
            let set = read(&plan, previous.as_ref(), change);
            proceed()?;
            let before = previous.as_ref().and_then(|previous| {
                Some((&previous.analysis.set, previous.renderings.as_deref()?))
            });
            let renderings = rendered(&set, before);
            drop(previous);
            proceed()?;
            let engine::Analysis {
                mut outcome,
                workloads,
            } = analyse(&AnalysisRequest {
                renderings: renderings.as_deref(),
                has_predictions: true,
                ..AnalysisRequest::new(&set, &plan.settings)
            });
            (plan.suppress)(&set, &mut outcome);
            let analysis = Analysis {
                folder: self.root.folder.clone(),
                set,
                plan,
                outcome,
                workloads,
                buffers: Arc::clone(&change.buffers),
                supports: shared.client.supports,
            };
            Some(State {
                analysis,
                renderings,
            })
        })
    }

    /// Returns what to read and check.
    fn plan(&mut self, previous: Option<&State>, change: &Change) -> Option<Plan> {
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
        let plan = match planned {
            Ok(plan) => plan,
            Err(_) => previous?.analysis.plan.with_files(files),
        };
        if !plan.notes.is_empty() && previous.is_none() {
            self.shared.client.log(plan.notes.trim_end());
        }
        Some(plan)
    }

    /// Answers requests until something changes. Returns `None` if the folder was removed.
    fn serve(&self, analysis: &Analysis, queries: Vec<Request>) -> Option<Next> {
        for query in queries {
            self.answer(analysis, query);
        }
        loop {
            match self.jobs.recv() {
                Ok(Job::Query(query)) => self.answer(analysis, query),
                Ok(Job::Change(change)) => return collect(&self.shared, &self.jobs, change),
                Err(_) => return None,
            }
        }
    }

    /// Answers a request.
    fn answer(&self, analysis: &Analysis, request: Request) {
        match requests::is_pull(&request) {
            true => self.answer_pull(request),
            false => self.shared.answer(analysis, request),
        }
    }

    /// Answers a request about a folder that has never had valid settings.
    fn answer_without_analysis(&self, request: Request) {
        match requests::is_pull(&request) {
            true => self.answer_pull(request),
            false => self.shared.respond(request.id, Ok(Value::Null)),
        }
    }

    /// Answers a request for diagnostics from those that were computed last.
    fn answer_pull(&self, request: Request) {
        let answer = self.shared.unless_cancelled(&request.id, || {
            requests::typed(request.params, |params| {
                locked(&self.publisher).report(&params)
            })
        });
        self.shared.respond(request.id, answer);
    }

    /// Publishes the diagnostics of an analysis.
    fn publish(&self, analysis: &Analysis) {
        if self.is_ended() {
            return;
        }
        let shared = &self.shared;
        let (root, problems) = (&self.root, &self.problems);
        let reports = shared.pool.install(|| {
            let owns = |path: &Path| {
                let roots = shared.roots.read().unwrap_or_else(PoisonError::into_inner);
                innermost(roots.iter(), path).is_none_or(|innermost| innermost == root)
            };
            let found = diagnostics::of_analysis(analysis);
            let problems = problem_diagnostics(problems);
            publisher::reports(analysis, found, problems, owns)
        });
        locked(&self.publisher).publish(&shared.client, reports);
        shared.client.refresh();
    }

    /// Waits for the next change of a folder that has never had valid settings.
    pub(super) fn wait(&self, change: &Change, queries: Vec<Request>) -> Option<Next> {
        let problems = problem_diagnostics(&self.problems);
        let reports = publisher::problem_reports(&change.buffers, problems);
        locked(&self.publisher).publish(&self.shared.client, reports);
        for query in queries {
            self.answer_without_analysis(query);
        }
        loop {
            match self.jobs.recv() {
                Ok(Job::Query(query)) => self.answer_without_analysis(query),
                Ok(Job::Change(change)) => return collect(&self.shared, &self.jobs, change),
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

/// A state of a folder, with the renderings that the next state may reuse.
struct State {
    analysis: Analysis,
    /// `None` if meshprobe panicked.
    renderings: Option<Vec<Rendering>>,
}

/// Reads the files of a plan. Files of the state before are used again unless they are among the changed paths.
fn read(plan: &Plan, previous: Option<&State>, change: &Change) -> SourceSet {
    let before = previous.map(|previous| &previous.analysis.set);
    if let Some(before) = before.filter(|_| change.is_of_contents()) {
        let files = &plan.request.filesystem;
        if let Some(mut set) = before.with_changed_contents(&change.paths, files) {
            set.context_option = plan.context_option.clone();
            return set;
        }
    }
    let shared = before.filter(|_| !change.anything).map(|before| {
        let changed = ChangedPaths::of_files(change.paths.iter().cloned());
        Arc::new(SharedFiles::new(before, changed))
    });
    let mut set = engine::load(&source::Request {
        shared,
        ..plan.request.clone()
    });
    set.context_option = plan.context_option.clone();
    set
}

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

/// Waits for the changes that follow `first`. If the folder was removed, cancels the requests between them and returns
/// `None`.
fn collect(shared: &Shared, jobs: &Receiver<Job>, first: Change) -> Option<Next> {
    let mut next = Next {
        change: first,
        queries: Vec::new(),
    };
    loop {
        match jobs.recv_timeout(QUIET) {
            Ok(Job::Change(change)) => next.change.add(change),
            Ok(Job::Query(query)) => next.queries.push(query),
            Err(RecvTimeoutError::Timeout) => return Some(next),
            Err(RecvTimeoutError::Disconnected) => {
                for query in next.queries {
                    shared.respond(query.id, Err(cancelled()));
                }
                return None;
            }
        }
    }
}
