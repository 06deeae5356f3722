//! The diagnostics that a client pulls.

use gen_lsp_types::{
    Diagnostic, DocumentDiagnosticReport, FullDocumentDiagnosticReport,
    RelatedFullDocumentDiagnosticReport, RelatedUnchangedDocumentDiagnosticReport,
    UnchangedDocumentDiagnosticReport, Uri,
};
use hashbrown::HashMap;

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
