//! The state of a connection: the open documents, the folders of the workspace with their workers, and the requests.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use gen_lsp_types::{
    CancelParams, DidChangeConfigurationParams, DidChangeTextDocumentParams,
    DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DidSaveTextDocumentParams, FileChangeType, Id, Uri,
};
use lsp_server::{Request, RequestId};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::buffers::{Documents, real_path};
use crate::client::Client;
use crate::client::locked;
use crate::encoding::path_of;
use crate::loader::{Root, innermost};
use crate::publisher::{Publisher, Reports};
use crate::shared::Shared;
use crate::worker::{Change, Job, STACK, Worker};
use crate::{client, loader, requests};

/// The state of a connection.
pub(crate) struct Session {
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
    pub(crate) fn new(shared: Arc<Shared>, folders: Vec<Uri>, settings: Option<Value>) -> Self {
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
    pub(crate) fn client(&self) -> &Client {
        &self.shared.client
    }

    /// Ends all workers without waiting for running analyses, and cancels the requests that are not answered yet. Requests
    /// that were kept have no answer, because nothing was read.
    pub(crate) fn end(&mut self) {
        self.waiting.clear();
        self.query_held();
        self.workspaces.end(&self.shared);
        self.shared.cancel_pending();
    }

    /// Processes a notification. Those that are not known or not valid are ignored, as the protocol requires.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub(crate) fn notified(&mut self, method: &str, params: Value) -> io::Result<()> {
        match method {
            "initialized" => {
                client::register(self.client());
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
                    self.settings = loader::section(&params.settings);
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

impl Session {
    /// Processes the answer to a request of the server.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub(crate) fn answered(&mut self, id: &RequestId, result: Value) -> io::Result<()> {
        let Some((_, folders)) = self
            .requested_settings
            .take_if(|(requested, _)| requested == id)
        else {
            return Ok(());
        };
        let given = result.as_array().cloned().unwrap_or_default();
        for (uri, value) in folders.iter().zip(given) {
            // `null` means that the client has no settings for this folder.
            let value = match value {
                Value::Object(_) => value,
                _ => self.settings.clone(),
            };
            if self.waiting.contains(uri) {
                self.start(uri, value)?;
                continue;
            }
            for known in self.workspaces.iter().filter(|known| known.uri == *uri) {
                known.send(Job::Change(Change {
                    settings: Some(value.clone()),
                    ..self.change(Vec::new(), false)
                }));
            }
        }
        self.start_if_waiting()
    }

    /// Loads the folders for which the client has not sent settings, with the general settings.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub(crate) fn start_if_waiting(&mut self) -> io::Result<()> {
        for uri in self.waiting.clone() {
            self.start(&uri, self.settings.clone())?;
        }
        Ok(())
    }

    pub(super) fn request_settings(&mut self) {
        if !self.client().supports.configuration {
            return;
        }
        let known = self.workspaces.iter().map(|known| known.uri.clone());
        let folders: Vec<Uri> = self.waiting.iter().cloned().chain(known).collect();
        if !folders.is_empty() {
            let params = loader::request(folders.iter().cloned());
            let id = self.client().request("workspace/configuration", params);
            self.requested_settings = Some((id, folders));
        }
    }

    /// Loads a folder.
    fn start(&mut self, uri: &Uri, settings: Value) -> io::Result<()> {
        self.waiting.retain(|waiting| waiting != uri);
        if let Some(folder) = path_of(uri) {
            self.add(uri, Root { folder, only: None }, settings)?;
        }
        self.query_held();
        Ok(())
    }

    /// Returns whether a path is in a folder that is not loaded yet.
    pub(super) fn is_waiting(&self, path: &Path) -> bool {
        let contains = |uri: &Uri| path_of(uri).is_some_and(|folder| path.starts_with(folder));
        self.waiting.iter().any(contains)
    }

    /// Loads a document that is in no folder of the workspace.
    pub(super) fn start_outside(&mut self, uri: &Uri, path: &Path) -> io::Result<()> {
        if self.workspaces.of(path).is_some() || self.is_waiting(path) {
            return Ok(());
        }
        let Some(folder) = path.parent().map(Path::to_path_buf) else {
            return Ok(());
        };
        let only = Some(path.to_path_buf());
        self.add(uri, Root { folder, only }, self.settings.clone())
    }

    pub(super) fn end_outside(&mut self, path: &Path) {
        let all = self.workspaces.iter().map(|known| known.root.clone());
        let ended = all.filter(|root| root.only.as_deref() == Some(path));
        for root in ended.collect::<Vec<_>>() {
            self.workspaces.remove(&root, &self.shared);
            self.update_roots();
        }
    }

    fn add(&mut self, uri: &Uri, root: Root, settings: Value) -> io::Result<()> {
        let first = Change {
            settings: Some(settings),
            ..self.change(Vec::new(), true)
        };
        let roots = self.workspaces.iter().map(|known| known.root.clone());
        let roots = roots.chain([root.clone()]).collect();
        *self
            .shared
            .roots
            .write()
            .unwrap_or_else(PoisonError::into_inner) = roots;
        self.workspaces
            .add(uri.clone(), root, &self.shared, first)?;
        self.update_roots();
        Ok(())
    }

    fn update_roots(&self) {
        let roots = self.workspaces.iter().map(|known| known.root.clone());
        let mut known = self
            .shared
            .roots
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *known = roots.collect();
    }

    pub(super) fn change_folders(
        &mut self,
        params: DidChangeWorkspaceFoldersParams,
    ) -> io::Result<()> {
        for removed in params.event.removed {
            self.waiting.retain(|uri| *uri != removed.uri);
            if let Some(folder) = path_of(&removed.uri) {
                let root = Root { folder, only: None };
                self.workspaces.remove(&root, &self.shared);
            }
        }
        self.update_roots();
        let added = params.event.added.into_iter().map(|folder| folder.uri);
        self.waiting.extend(added);
        self.request_settings();
        if !self.client().supports.configuration {
            self.start_if_waiting()?;
        }
        self.query_held();
        // The folder that a file belongs to may be another one now.
        self.broadcast(Vec::new(), false);
        Ok(())
    }
}

impl Session {
    /// Passes a request to the folder of its document.
    ///
    /// A request about a folder whose settings have not arrived yet is kept until the folder is loaded.
    pub(crate) fn query(&mut self, request: Request) {
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

/// A folder of the workspace.
#[derive(Debug)]
pub(super) struct Workspace {
    /// The URI that the client names.
    pub(super) uri: Uri,
    /// What is checked.
    pub(super) root: Root,
    jobs: Sender<Job>,
    publisher: Arc<Mutex<Publisher>>,
}

impl Workspace {
    /// Passes a job to the worker of the folder.
    pub(super) fn send(&self, job: Job) {
        // A worker only ends after its folder is removed.
        let _ = self.jobs.send(job);
    }
}

/// The folders of the workspace.
#[derive(Debug, Default)]
pub(super) struct Workspaces {
    all: Vec<Workspace>,
}

impl Workspaces {
    /// Starts the worker of a folder, unless the folder is already part of the workspace.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn add(
        &mut self,
        uri: Uri,
        root: Root,
        shared: &Arc<Shared>,
        first: Change,
    ) -> io::Result<()> {
        if self.all.iter().any(|known| known.root == root) {
            return Ok(());
        }
        let (jobs, receiver) = channel();
        let worker = Worker::new(root.clone(), Arc::clone(shared), receiver);
        let publisher = Arc::clone(&worker.publisher);
        std::thread::Builder::new()
            .name("lsp-worker".to_owned())
            .stack_size(STACK)
            .spawn(move || worker.run(first))?;
        self.all.push(Workspace {
            uri,
            root,
            jobs,
            publisher,
        });
        Ok(())
    }

    /// Ends the worker of a folder.
    pub(super) fn remove(&mut self, root: &Root, shared: &Shared) {
        let all = std::mem::take(&mut self.all).into_iter();
        let (removed, kept) = all.partition(|known| known.root == *root);
        self.all = kept;
        end(removed, shared);
    }

    /// Ends all workers.
    pub(super) fn end(&mut self, shared: &Shared) {
        end(std::mem::take(&mut self.all), shared);
    }

    /// Iterates over the folders.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Workspace> {
        self.all.iter()
    }

    /// Returns the innermost folder that contains a path.
    pub(super) fn of(&self, path: &Path) -> Option<&Workspace> {
        let root = innermost(self.all.iter().map(|known| &known.root), path)?;
        self.all.iter().find(|known| known.root == *root)
    }

    /// Sends a change to all folders, because a file may state facts about each of them.
    pub(super) fn broadcast(&self, change: &Change) {
        for known in &self.all {
            known.send(Job::Change(change.clone()));
        }
    }
}

/// Ends workers, each of which finishes the step of its analysis in the background, and removes their diagnostics.
fn end(workspaces: Vec<Workspace>, shared: &Shared) {
    for workspace in workspaces {
        locked(&workspace.publisher).end(&shared.client);
    }
}
