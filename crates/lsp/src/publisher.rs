//! Publishes diagnostics that differ from those that the client has, and keeps those that the client requests.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use gen_lsp_types::{
    Diagnostic, DocumentDiagnosticParams, DocumentDiagnosticReport, FullDocumentDiagnosticReport,
    PublishDiagnosticsParams, RelatedFullDocumentDiagnosticReport,
    RelatedUnchangedDocumentDiagnosticReport, UnchangedDocumentDiagnosticReport, Uri,
};
use hashbrown::HashMap;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::analysis::Analysis;
use crate::buffers::Buffers;
use crate::client::Client;
use crate::diagnostics;
use crate::diagnostics::ByFile;
use crate::encoding::path_of;

/// The diagnostics that the client has.
#[derive(Debug, Default)]
pub(super) struct Publisher {
    /// Those that were published, as hashes with the version of the document.
    published: HashMap<Uri, (Option<i32>, u64)>,
    /// Those that the client requests.
    reports: Reports,
    /// Whether the folder was removed. Its results are then not published.
    is_ended: bool,
}

/// Returns the reports of an analysis, and of problems with the configuration. `owns` decides whether a path belongs to this
/// folder of the workspace.
pub(super) fn reports(
    analysis: &Analysis,
    found: ByFile,
    problems: Vec<(PathBuf, Diagnostic)>,
    owns: impl Fn(&Path) -> bool,
) -> Vec<(Uri, Report)> {
    let mut all: HashMap<Uri, Vec<Diagnostic>> = HashMap::new();
    for (path, diagnostics) in found {
        let location = analysis.set.file(&path).and_then(|file| analysis.uri(file));
        // The configuration is not a file of the set.
        let uri = location.unwrap_or_else(|| analysis.buffers.uri(&analysis.folder.join(&*path)));
        all.entry(uri).or_default().extend(diagnostics);
    }
    add_problems(&mut all, &analysis.buffers, problems);
    for buffer in analysis.buffers.iter() {
        let uri = buffer.uri.clone();
        let found = all.entry(uri).or_default();
        if buffer.text != buffer.checked {
            // The places of findings are those of another text.
            let path = (analysis.folder.as_path(), buffer.path.as_path());
            *found = diagnostics::invalid_document(path, &buffer.text, analysis.supports.encoding);
        }
    }
    all.retain(|uri, _| path_of(uri).is_some_and(|path| owns(&path)));
    reports_of(&analysis.buffers, all)
}

/// Returns the reports of a folder whose settings are not valid.
pub(super) fn problem_reports(
    buffers: &Buffers,
    problems: Vec<(PathBuf, Diagnostic)>,
) -> Vec<(Uri, Report)> {
    let mut all = HashMap::new();
    add_problems(&mut all, buffers, problems);
    reports_of(buffers, all)
}

fn reports_of(buffers: &Buffers, all: HashMap<Uri, Vec<Diagnostic>>) -> Vec<(Uri, Report)> {
    let mut all: Vec<(Uri, Vec<Diagnostic>)> = all.into_iter().collect();
    all.sort_by(|one, other| one.0.0.cmp(&other.0.0));
    let hashes: Vec<u64> = all.par_iter().map(|(_, found)| hash_of(found)).collect();
    let report = |((uri, diagnostics), hash): ((Uri, Vec<Diagnostic>), u64)| {
        let buffer = path_of(&uri).and_then(|path| buffers.get(&path));
        let report = Report {
            version: buffer.map(|buffer| buffer.version),
            hash,
            diagnostics,
        };
        (uri, report)
    };
    all.into_iter().zip(hashes).map(report).collect()
}

impl Publisher {
    /// Removes all diagnostics, and publishes nothing any more.
    pub(super) fn end(&mut self, client: &Client) {
        self.publish(client, Vec::new());
        self.is_ended = true;
    }

    /// Returns whether the folder was removed.
    pub(super) const fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Returns the report of a document.
    pub(super) fn report(&self, params: &DocumentDiagnosticParams) -> DocumentDiagnosticReport {
        let previous = params.previous_result_id.as_deref();
        self.reports.document(&params.text_document.uri, previous)
    }

    /// Publishes all reports of the folder.
    pub(super) fn publish(&mut self, client: &Client, reports: Vec<(Uri, Report)>) {
        if self.is_ended {
            return;
        }
        if !client.supports.pull_diagnostics {
            return self.publish_changes(client, reports);
        }
        // The client requests those of open documents, and gets the others.
        let is_closed = |(_, report): &&(Uri, Report)| report.version.is_none();
        let pushed = reports.iter().filter(is_closed).cloned().collect();
        self.publish_changes(client, pushed);
        if self.reports.replace(reports) {
            client.refresh_diagnostics();
        }
    }

    /// Publishes the reports that differ from those that the client has, and removes the others.
    fn publish_changes(&mut self, client: &Client, reports: Vec<(Uri, Report)>) {
        let mut reports: BTreeMap<String, Report> = reports
            .into_iter()
            .map(|(uri, report)| (uri.0, report))
            .collect();
        for gone in self.published.keys() {
            reports.entry(gone.0.clone()).or_default();
        }
        for (uri, report) in reports {
            let uri = Uri(uri);
            let is_nothing = report.diagnostics.is_empty() && report.version.is_none();
            let state = (report.version, report.hash);
            let is_known = match self.published.get(&uri) {
                Some(known) => *known == state,
                None => is_nothing,
            };
            if is_known {
                continue;
            }
            if is_nothing {
                self.published.remove(&uri);
            } else {
                self.published.insert(uri.clone(), state);
            }
            client.publish(&PublishDiagnosticsParams {
                uri,
                version: report.version,
                diagnostics: report.diagnostics,
            });
        }
    }
}

fn add_problems(
    all: &mut HashMap<Uri, Vec<Diagnostic>>,
    buffers: &Buffers,
    problems: Vec<(PathBuf, Diagnostic)>,
) {
    for (path, diagnostic) in problems {
        all.entry(buffers.uri(&path)).or_default().push(diagnostic);
    }
}

fn hash_of(diagnostics: &[Diagnostic]) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(diagnostics)
        .unwrap_or_default()
        .hash(&mut hasher);
    hasher.finish()
}

/// The diagnostics of a document.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    /// The version of the document; `None` if it is not open.
    pub(super) version: Option<i32>,
    /// The hash of the diagnostics.
    pub(super) hash: u64,
    /// The diagnostics.
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Report {
    /// Returns the id that the client sends with its next request. Equal diagnostics have equal ids.
    fn result_id(&self) -> String {
        format!("{:016x}", self.hash)
    }
}

/// The diagnostics of all documents of a folder, as of the last analysis.
#[derive(Debug, Default)]
pub(super) struct Reports {
    by_uri: HashMap<Uri, Report>,
}

impl Reports {
    /// Replaces all diagnostics. Returns whether those of a document have changed.
    pub(super) fn replace(&mut self, reports: impl IntoIterator<Item = (Uri, Report)>) -> bool {
        let new: HashMap<Uri, Report> = reports.into_iter().collect();
        let old = std::mem::replace(&mut self.by_uri, new);
        let has = |reports: &HashMap<Uri, Report>, uri: &Uri, report: &Report| {
            let other = reports.get(uri);
            other.map_or(report.diagnostics.is_empty(), |other| {
                other.hash == report.hash
            })
        };
        let is_same = old
            .iter()
            .all(|(uri, report)| has(&self.by_uri, uri, report))
            && self
                .by_uri
                .iter()
                .all(|(uri, report)| has(&old, uri, report));
        !is_same
    }

    /// Returns the report of a document, which has no diagnostics if nothing is known about it.
    pub(super) fn document(&self, uri: &Uri, previous: Option<&str>) -> DocumentDiagnosticReport {
        let none = Report::default();
        let report = self.by_uri.get(uri).unwrap_or(&none);
        let id = report.result_id();
        if previous == Some(id.as_str()) {
            let unchanged = UnchangedDocumentDiagnosticReport::new(id);
            return RelatedUnchangedDocumentDiagnosticReport::new(None, unchanged).into();
        }
        let full = FullDocumentDiagnosticReport::new(Some(id), report.diagnostics.clone());
        RelatedFullDocumentDiagnosticReport::new(None, full).into()
    }
}
