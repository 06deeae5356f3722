//! The client: what it supports, and the messages to it.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_channel::Sender;
use gen_lsp_types::{
    ClientCapabilities, DidChangeWatchedFilesRegistrationOptions, FileSystemWatcher, MessageType,
    ProgressParams, PublishDiagnosticsParams, Registration, RegistrationParams, ShowMessageParams,
    WorkDoneProgressBegin, WorkDoneProgressCreateParams, WorkDoneProgressEnd,
};
use lsp_server::{Message, Notification, Request, RequestId, Response, ResponseError};
use serde::Serialize;
use serde_json::Value;

use super::encoding::Encoding;

/// What the client supports, as far as the server uses it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Supports {
    /// What the character of a position counts.
    pub(super) encoding: Encoding,
    /// `workspace/configuration`.
    pub(super) configuration: bool,
    /// Dynamic registration of `workspace/didChangeWatchedFiles`.
    pub(super) watched_files: bool,
    /// Dynamic registration of `workspace/didChangeConfiguration`.
    pub(super) configuration_changes: bool,
    /// Progress that the server starts.
    pub(super) progress: bool,
    /// Edits of documents with versions.
    pub(super) document_changes: bool,
    /// Edits whose new text selects a part of itself, which the user then replaces.
    pub(super) snippet_edits: bool,
    /// Code actions whose edits are computed when the user selects them.
    pub(super) resolve_edits: bool,
    /// Tags of diagnostics, such as "unnecessary".
    pub(super) tags: bool,
    /// `textDocument/diagnostic`, which the server may ask for again when another document has changed.
    pub(super) pull_diagnostics: bool,
    /// The server may ask for `textDocument/inlayHint` and `textDocument/codeLens` again.
    pub(super) refresh_hints: bool,
    /// As [`Supports::refresh_hints`], for code lenses.
    pub(super) refresh_lenses: bool,
}

impl Supports {
    /// Reads the capabilities of a client.
    pub(super) fn of(capabilities: &ClientCapabilities) -> Self {
        let workspace = capabilities.workspace.as_ref();
        let text = capabilities.text_document.as_ref();
        let general = capabilities.general.as_ref();
        let window = capabilities.window.as_ref();
        let offered = general.and_then(|general| general.position_encodings.as_deref());
        let diagnostics = text.and_then(|text| text.publish_diagnostics.as_ref());
        let pull = text.and_then(|text| text.diagnostic.as_ref());
        let resolve = text
            .and_then(|text| text.code_action.as_ref())
            .and_then(|action| action.resolve_support.as_ref());
        let flag = |flag: Option<bool>| flag.unwrap_or_default();
        Self {
            encoding: Encoding::negotiate(offered),
            configuration: flag(workspace.and_then(|workspace| workspace.configuration)),
            watched_files: flag(workspace.and_then(|workspace| {
                workspace
                    .did_change_watched_files
                    .as_ref()?
                    .dynamic_registration
            })),
            configuration_changes: flag(workspace.and_then(|workspace| {
                workspace
                    .did_change_configuration
                    .as_ref()?
                    .dynamic_registration
            })),
            progress: flag(window.and_then(|window| window.work_done_progress)),
            document_changes: flag(
                workspace.and_then(|workspace| workspace.workspace_edit.as_ref()?.document_changes),
            ),
            snippet_edits: flag(
                workspace
                    .and_then(|workspace| workspace.workspace_edit.as_ref()?.snippet_edit_support),
            ),
            resolve_edits: resolve
                .is_some_and(|resolve| resolve.properties.iter().any(|name| name == "edit")),
            tags: diagnostics.is_some_and(|diagnostics| {
                diagnostics.diagnostics_capabilities.tag_support.is_some()
            }) || pull
                .is_some_and(|pull| pull.diagnostics_capabilities.tag_support.is_some()),
            pull_diagnostics: pull.is_some()
                && flag(workspace.and_then(|workspace| workspace.diagnostics?.refresh_support)),
            refresh_hints: flag(
                workspace.and_then(|workspace| workspace.inlay_hint.as_ref()?.refresh_support),
            ),
            refresh_lenses: flag(
                workspace.and_then(|workspace| workspace.code_lens.as_ref()?.refresh_support),
            ),
        }
    }
}

/// Sends messages to the client, from any thread.
#[derive(Clone, Debug)]
pub(super) struct Client {
    /// `None` after the end of the connection.
    sender: Arc<Mutex<Option<Sender<Message>>>>,
    next: Arc<AtomicI32>,
    /// What the client supports.
    pub(super) supports: Supports,
}

impl Client {
    /// Creates a client whose capabilities are not known yet.
    pub(super) fn new(sender: Sender<Message>) -> Self {
        Self {
            sender: Arc::new(Mutex::new(Some(sender))),
            next: Arc::default(),
            supports: Supports::default(),
        }
    }

    /// Answers a request.
    pub(super) fn respond(&self, id: RequestId, answer: Result<Value, ResponseError>) {
        let response_result = answer;
        self.send(Message::Response(Response {
            id,
            response_result,
        }));
    }

    /// Sends a notification.
    pub(super) fn notify(&self, method: &str, params: impl Serialize) {
        if let Ok(params) = serde_json::to_value(params) {
            let method = method.to_owned();
            self.send(Message::Notification(Notification { method, params }));
        }
    }

    /// Sends a request, and returns its id.
    pub(super) fn request(&self, method: &str, params: impl Serialize) -> RequestId {
        let id = RequestId::from(self.next.fetch_add(1, Ordering::Relaxed));
        if let Ok(params) = serde_json::to_value(params) {
            let (id, method) = (id.clone(), method.to_owned());
            self.send(Message::Request(Request { id, method, params }));
        }
        id
    }

    /// Publishes the diagnostics of a document.
    pub(super) fn publish(&self, diagnostics: &PublishDiagnosticsParams) {
        self.notify("textDocument/publishDiagnostics", diagnostics);
    }

    /// Shows an error to the user.
    pub(super) fn show_error(&self, message: String) {
        self.notify(
            "window/showMessage",
            ShowMessageParams {
                kind: MessageType::Error,
                message,
            },
        );
    }

    /// Adds a message to the log of the client.
    pub(super) fn log(&self, message: &str) {
        self.notify(
            "window/logMessage",
            ShowMessageParams {
                kind: MessageType::Info,
                message: message.to_owned(),
            },
        );
    }

    /// Asks the client to request hints and lenses again, which depend on all files.
    pub(super) fn refresh(&self) {
        if self.supports.refresh_hints {
            self.request("workspace/inlayHint/refresh", Value::Null);
        }
        if self.supports.refresh_lenses {
            self.request("workspace/codeLens/refresh", Value::Null);
        }
    }

    /// Asks the client to request diagnostics again.
    pub(super) fn refresh_diagnostics(&self) {
        self.request("workspace/diagnostic/refresh", Value::Null);
    }

    /// Ends the connection: later messages are dropped, and the thread that writes them can end.
    pub(super) fn close(&self) {
        *locked(&self.sender) = None;
    }

    fn send(&self, message: Message) {
        // The lock is released before a message that the client may not read.
        let sender = locked(&self.sender).clone();
        if let Some(sender) = sender {
            // A client that has closed the connection gets no answer.
            let _ = sender.send(message);
        }
    }
}

/// Shows a progress message while it is alive.
#[derive(Debug)]
pub(super) struct Progress {
    client: Client,
    token: Option<String>,
}

impl Progress {
    /// Starts to show `title`, if the client supports it.
    pub(super) fn begin(client: &Client, title: String) -> Self {
        // A folder that is removed and added again may still be read.
        let number = || client.next.fetch_add(1, Ordering::Relaxed);
        let token = client
            .supports
            .progress
            .then(|| format!("{title} {}", number()));
        if let Some(token) = &token {
            let create = WorkDoneProgressCreateParams {
                token: token.clone().into(),
            };
            client.request("window/workDoneProgress/create", create);
            let begin = WorkDoneProgressBegin {
                title,
                ..WorkDoneProgressBegin::default()
            };
            send(client, token, serde_json::to_value(begin));
        }
        Self {
            client: client.clone(),
            token,
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(token) = &self.token {
            let end = WorkDoneProgressEnd::default();
            send(&self.client, token, serde_json::to_value(end));
        }
    }
}

fn send(client: &Client, token: &str, value: serde_json::Result<Value>) {
    if let Ok(value) = value {
        let token = token.to_owned().into();
        client.notify("$/progress", ProgressParams { token, value });
    }
}

/// The files whose content can affect the findings: manifests, kustomizations, values of charts, ignore files, and what
/// git stores about tracked files.
const PATTERNS: [&str; 7] = [
    "**/*.{yaml,yml,json}",
    "**/{Kustomization,.gitignore,.ignore}",
    "**/*.{tpl,properties,env}",
    "**/.git/{config,index}",
    "**/.git",
    "**/.git/info/exclude",
    "**/.meshprobe.{yaml,yml}",
];

/// Asks the client to report changes on disk and changes of the settings.
pub(super) fn register(client: &Client) {
    let mut registrations = Vec::new();
    if client.supports.watched_files {
        let watchers = PATTERNS.map(|pattern| FileSystemWatcher {
            glob_pattern: pattern.to_owned().into(),
            kind: None,
        });
        let options = DidChangeWatchedFilesRegistrationOptions {
            watchers: watchers.to_vec(),
        };
        registrations.push(Registration {
            id: "meshprobe-files".to_owned(),
            method: "workspace/didChangeWatchedFiles".to_owned(),
            register_options: serde_json::to_value(options).ok(),
        });
    }
    if client.supports.configuration_changes {
        registrations.push(Registration {
            id: "meshprobe-settings".to_owned(),
            method: "workspace/didChangeConfiguration".to_owned(),
            register_options: Some(serde_json::json!({ "section": "meshprobe" })),
        });
    }
    if !registrations.is_empty() {
        client.request(
            "client/registerCapability",
            RegistrationParams { registrations },
        );
    }
}

/// Locks a value, which stays usable after a panic while it was locked.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
