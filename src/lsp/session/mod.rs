//! The state of a connection: the open documents and the folders of the workspace.

mod folders;
mod queries;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use gen_lsp_types::{
    CancelParams, DidChangeConfigurationParams, DidChangeTextDocumentParams,
    DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DidSaveTextDocumentParams, FileChangeType, Id,
    TextDocumentSaveReason, Uri, WillSaveTextDocumentParams,
};
use lsp_server::{Request, RequestId};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::buffers::real_path;
use super::client::Client;
use super::documents::Documents;
use super::jobs::Change;
use super::lock::locked;
use super::shared::Shared;
use super::uri::path_of;
use super::workspaces::Workspaces;
use super::{settings, watched_files};

/// The state of a connection.
pub(in crate::lsp) struct Session {
    shared: Arc<Shared>,
    documents: Documents,
    workspaces: Workspaces,
    /// The folders that are not loaded yet, because the client has not sent its settings.
    waiting: Vec<Uri>,
    /// The settings of the client, for folders without settings of their own.
    settings: Value,
    /// The request for settings that is not answered yet, and its folders.
    requested_settings: Option<(RequestId, Vec<Uri>)>,
    /// The requests about folders that are not loaded yet.
    held: Vec<Request>,
}

impl Session {
    /// Creates the state after `initialize`.
    pub(in crate::lsp) fn new(
        shared: Arc<Shared>,
        folders: Vec<Uri>,
        settings: Option<Value>,
    ) -> Self {
        Self {
            shared,
            documents: Documents::default(),
            workspaces: Workspaces::default(),
            waiting: folders,
            settings: settings.unwrap_or_else(|| Value::Object(Map::new())),
            requested_settings: None,
            held: Vec::new(),
        }
    }

    /// Returns the client.
    pub(in crate::lsp) fn client(&self) -> &Client {
        &self.shared.client
    }

    /// Ends all analyses. Requests that were kept have no answer, because nothing was read.
    pub(in crate::lsp) fn end(&mut self) {
        self.waiting.clear();
        self.query_held();
        self.workspaces.end();
    }

    /// Processes a notification. Those that are not known or not valid are ignored, as the protocol requires.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub(in crate::lsp) fn notified(&mut self, method: &str, params: Value) -> io::Result<()> {
        match method {
            "initialized" => {
                watched_files::register(self.client());
                self.request_settings();
                if self.requested_settings.is_none() {
                    self.start_if_waiting()?;
                }
            }
            "textDocument/didOpen" => {
                if let Some(params) = read::<DidOpenTextDocumentParams>(params) {
                    let document = params.text_document;
                    if let Some(path) = path_of(&document.uri) {
                        self.start_outside(&document.uri, &path)?;
                        let (version, text) = (document.version, document.text);
                        let changed = self.documents.open(document.uri, path, version, text);
                        self.broadcast(vec![changed], false);
                    }
                }
            }
            "textDocument/didChange" => {
                if let Some(params) = read::<DidChangeTextDocumentParams>(params) {
                    let document = &params.text_document;
                    let path = path_of(&document.text_document_identifier.uri);
                    let encoding = self.client().supports.encoding;
                    let changed = path.and_then(|path| {
                        let changes = params.content_changes;
                        let version = document.version;
                        self.documents.change(&path, version, changes, encoding)
                    });
                    self.broadcast(changed.into_iter().collect(), false);
                }
            }
            "textDocument/willSave" => {
                if let Some(params) = read::<WillSaveTextDocumentParams>(params)
                    && let Some(path) = path_of(&params.text_document.uri)
                {
                    use TextDocumentSaveReason::{AfterDelay, FocusOut};
                    let is_command = !matches!(params.reason, AfterDelay | FocusOut);
                    self.documents.will_save(path, is_command);
                }
            }
            "textDocument/didSave" => {
                let params = read::<DidSaveTextDocumentParams>(params);
                let path = params.and_then(|params| path_of(&params.text_document.uri));
                let changed = path.and_then(|path| self.documents.save(&path));
                let change = Change {
                    anything: !self.client().supports.watched_files,
                    ..self.change(changed.into_iter().collect(), false)
                };
                self.workspaces.broadcast(&change);
            }
            "textDocument/didClose" => {
                let params = read::<DidCloseTextDocumentParams>(params);
                if let Some(path) = params.and_then(|params| path_of(&params.text_document.uri)) {
                    let changed = self.documents.close(&path);
                    self.end_outside(&path);
                    self.broadcast(changed.into_iter().collect(), false);
                }
            }
            "workspace/didChangeWatchedFiles" => {
                if let Some(params) = read::<DidChangeWatchedFilesParams>(params) {
                    let is_structural = |kind| kind != FileChangeType::Changed;
                    let files = params.changes.iter().any(|event| is_structural(event.kind));
                    let paths = params
                        .changes
                        .iter()
                        .filter_map(|event| path_of(&event.uri));
                    let paths = paths.map(|path| real_path(&path)).collect();
                    self.broadcast(paths, files);
                }
            }
            "workspace/didChangeConfiguration" => {
                if self.client().supports.configuration {
                    self.request_settings();
                } else if let Some(params) = read::<DidChangeConfigurationParams>(params) {
                    self.settings = settings::section(&params.settings);
                    let change = Change {
                        settings: Some(self.settings.clone()),
                        ..self.change(Vec::new(), false)
                    };
                    self.workspaces.broadcast(&change);
                }
            }
            "workspace/didChangeWorkspaceFolders" => {
                if let Some(params) = read::<DidChangeWorkspaceFoldersParams>(params) {
                    self.change_folders(params)?;
                }
            }
            "$/cancelRequest" => {
                if let Some(params) = read::<CancelParams>(params) {
                    let id = match params.id {
                        Id::Int(id) => RequestId::from(id),
                        Id::String(id) => RequestId::from(id),
                    };
                    if let Some(is_cancelled) = locked(&self.shared.pending).get_mut(&id) {
                        *is_cancelled = true;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn change(&self, paths: Vec<PathBuf>, files: bool) -> Change {
        Change {
            buffers: self.documents.buffers(),
            paths,
            files,
            anything: false,
            settings: None,
        }
    }

    fn broadcast(&self, paths: Vec<PathBuf>, files: bool) {
        self.workspaces.broadcast(&self.change(paths, files));
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Option<T> {
    serde_json::from_value(params).ok()
}
