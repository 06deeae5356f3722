//! The requests of the client, which the workers of the folders answer.

use std::sync::Arc;

use lsp_server::{ErrorCode, Request};
use serde_json::Value;

use super::Session;
use crate::lsp::jobs::{Job, Query};
use crate::lsp::lock::locked;
use crate::lsp::reports::empty_report;
use crate::lsp::requests;
use crate::lsp::uri::path_of;
use crate::lsp::workspace_pull::WorkspacePull;

impl Session {
    /// Passes a request to the folder of its document, or to all folders if it is not about a document.
    ///
    /// A request about a folder whose settings have not arrived yet is kept until the folder is loaded.
    pub(in crate::lsp) fn query(&mut self, request: Request) {
        let path = requests::document(&request).and_then(|uri| path_of(&uri));
        let is_workspace = request.method == requests::WORKSPACE_DIAGNOSTICS;
        if is_workspace && !self.waiting.is_empty()
            || path.as_deref().is_some_and(|path| self.is_waiting(path))
        {
            return self.held.push(request);
        }
        if is_workspace {
            return self.pull_workspace(request);
        }
        let workspace = path.and_then(|path| self.workspaces.of(&path));
        match workspace {
            Some(workspace) => {
                locked(&self.shared.pending).insert(request.id.clone(), false);
                workspace.send(Job::Query(Query::Document(request)));
            }
            None => {
                let answer = match request.method.as_str() {
                    requests::DOCUMENT_DIAGNOSTICS => requests::written(empty_report()),
                    _ => Ok(Value::Null),
                };
                self.client().respond(request.id, answer);
            }
        }
    }

    /// Passes the requests on that were kept until a folder was loaded.
    pub(super) fn query_held(&mut self) {
        for request in std::mem::take(&mut self.held) {
            self.query(request);
        }
    }

    /// Passes a request for the diagnostics of all folders to their workers.
    fn pull_workspace(&self, request: Request) {
        let params = match serde_json::from_value(request.params) {
            Ok(params) => params,
            Err(wrong) => {
                let error = requests::error(ErrorCode::InvalidParams, &wrong.to_string());
                return self.client().respond(request.id, Err(error));
            }
        };
        locked(&self.shared.pending).insert(request.id.clone(), false);
        let pull = Arc::new(WorkspacePull::new(
            Arc::clone(&self.shared),
            request.id,
            params,
        ));
        for workspace in self.workspaces.iter() {
            workspace.send(Job::Query(Query::Workspace(Arc::clone(&pull))));
        }
    }
}
