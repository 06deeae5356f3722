//! The requests of the client, which the workers of the folders answer.

use gen_lsp_types::Uri;
use lsp_server::Request;
use serde_json::Value;

use super::Session;
use crate::lsp::jobs::Job;
use crate::lsp::lock::locked;
use crate::lsp::reports::Reports;
use crate::lsp::requests;
use crate::lsp::uri::path_of;

impl Session {
    /// Passes a request to the folder of its document.
    ///
    /// A request about a folder whose settings have not arrived yet is kept until the folder is loaded.
    pub(in crate::lsp) fn query(&mut self, request: Request) {
        let path = requests::document(&request).and_then(|uri| path_of(&uri));
        if path.as_deref().is_some_and(|path| self.is_waiting(path)) {
            return self.held.push(request);
        }
        let workspace = path.and_then(|path| self.workspaces.of(&path));
        match workspace {
            Some(workspace) => {
                locked(&self.shared.pending).insert(request.id.clone(), false);
                workspace.send(Job::Query(request));
            }
            None => {
                let answer = match requests::is_pull(&request) {
                    true => requests::written(Reports::default().document(&Uri::from(""), None)),
                    false => Ok(Value::Null),
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
}
