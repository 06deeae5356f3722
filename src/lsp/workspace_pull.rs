//! `workspace/diagnostic`: one answer with the diagnostics of all folders.

use std::sync::{Arc, Mutex};

use gen_lsp_types::{
    FullDocumentDiagnosticReport, Uri, WorkspaceDiagnosticParams, WorkspaceDiagnosticReport,
    WorkspaceDocumentDiagnosticReport, WorkspaceFullDocumentDiagnosticReport,
};
use hashbrown::HashMap;
use lsp_server::RequestId;

use super::lock::locked;
use super::reports::Reports;
use super::requests;
use super::shared::Shared;

/// A request for the diagnostics of all folders. It is answered when the last folder has dropped it, also if the worker of a
/// folder ends before.
pub(super) struct WorkspacePull {
    shared: Arc<Shared>,
    id: RequestId,
    /// The ids of the reports that the client has.
    previous: HashMap<Uri, String>,
    reports: Mutex<HashMap<Uri, WorkspaceDocumentDiagnosticReport>>,
}

impl WorkspacePull {
    /// Creates the state of a request that is pending.
    pub(super) fn new(
        shared: Arc<Shared>,
        id: RequestId,
        params: WorkspaceDiagnosticParams,
    ) -> Self {
        let previous = params.previous_result_ids.into_iter();
        Self {
            shared,
            id,
            previous: previous.map(|known| (known.uri, known.value)).collect(),
            reports: Mutex::default(),
        }
    }

    /// Adds the diagnostics of a folder.
    pub(super) fn add(&self, reports: &Reports) {
        locked(&self.reports).extend(reports.workspace(&self.previous));
    }
}

impl Drop for WorkspacePull {
    fn drop(&mut self) {
        let mut reports = std::mem::take(&mut *locked(&self.reports));
        for uri in self.previous.keys() {
            // The document has been deleted, or its folder removed.
            reports.entry(uri.clone()).or_insert_with(|| {
                let none = FullDocumentDiagnosticReport::default();
                WorkspaceFullDocumentDiagnosticReport::new(uri.clone(), None, none).into()
            });
        }
        let mut items: Vec<_> = reports.into_iter().collect();
        items.sort_by(|one, other| one.0.0.cmp(&other.0.0));
        let items = items.into_iter().map(|(_, item)| item).collect();
        let answer = WorkspaceDiagnosticReport::new(items);
        let answer = self
            .shared
            .unless_cancelled(&self.id, || requests::written(answer));
        self.shared.respond(self.id.clone(), answer);
    }
}
