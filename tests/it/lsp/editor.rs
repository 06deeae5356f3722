//! An editor that runs the language server in the process of the test.

use std::io;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use lsp_server::{Connection, Message, Notification, Request, RequestId, Response};
use meshprobe::cli::{Session, serve_lsp};
use meshprobe::engine::Exit;
use serde_json::{Value, json};

use crate::support::project::Project;

/// How long the server may take to answer: far more than it needs on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Editor<'p> {
    pub(super) project: &'p Project,
    connection: Connection,
    server: Option<JoinHandle<Result<Exit, String>>>,
    next: i32,
    versions: std::collections::BTreeMap<String, i32>,
    /// The diagnostics that the server has published last, by path in the project.
    pub(super) shown: std::collections::BTreeMap<String, Vec<Value>>,
    /// The notifications and requests of the server that are not diagnostics.
    pub(super) received: Vec<(String, Value)>,
    /// What the server gets for `workspace/configuration`.
    pub(super) settings: Value,
}

impl<'p> Editor<'p> {
    /// Starts a server without options that has not received a message.
    pub(super) fn connect(project: &'p Project) -> Self {
        Self::connect_with(project, &[])
    }

    pub(super) fn connect_with(project: &'p Project, options: &'static [&'static str]) -> Self {
        let (server, connection) = Connection::memory();
        let folder = project.path("");
        let server = std::thread::spawn(move || {
            let session = Session::new(folder, io::empty(), io::sink(), io::sink());
            serve_lsp(options, &session, &server)
        });
        Self {
            project,
            connection,
            server: Some(server),
            next: 0,
            versions: std::collections::BTreeMap::new(),
            shown: std::collections::BTreeMap::new(),
            received: Vec::new(),
            settings: Value::Null,
        }
    }

    /// Starts a server for the folder of the project, and waits for the first diagnostics.
    pub(super) fn open(project: &'p Project) -> Self {
        Self::open_with(project, json!({}), json!({}))
    }

    /// Starts a server with these capabilities of the client, and these settings.
    pub(super) fn open_with(project: &'p Project, capabilities: Value, settings: Value) -> Self {
        let mut editor = Self::connect(project);
        let folder = json!([{ "uri": editor.uri(""), "name": "project" }]);
        editor.initialize(capabilities, settings, folder);
        editor.settle();
        editor
    }

    pub(super) fn initialize(
        &mut self,
        capabilities: Value,
        settings: Value,
        folders: Value,
    ) -> Value {
        let answer = self.request(
            "initialize",
            json!({
                "processId": std::process::id(),
                "rootUri": null,
                "workspaceFolders": folders,
                "capabilities": capabilities,
                "initializationOptions": { "meshprobe": settings },
            }),
        );
        self.notify("initialized", json!({}));
        answer.unwrap()
    }

    pub(super) fn uri(&self, path: &str) -> String {
        let path = self.project.path(path);
        format!(
            "file://{}",
            path.display().to_string().trim_end_matches('/')
        )
    }

    pub(super) fn notify(&self, method: &str, params: Value) {
        let notification = Notification::new(method.to_owned(), params);
        self.connection.sender.send(notification.into()).unwrap();
    }

    /// Sends a request without waiting for the answer.
    pub(super) fn send(&mut self, method: &str, params: Value) -> RequestId {
        self.next += 1;
        let id = RequestId::from(self.next);
        let request = Request::new(id.clone(), method.to_owned(), params);
        self.connection.sender.send(request.into()).unwrap();
        id
    }

    /// Sends a request, and returns the answer or the code of the error.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Result<Value, i32> {
        let id = self.send(method, params);
        self.answer(&id)
    }

    /// Waits for the answer to a request.
    pub(super) fn answer(&mut self, id: &RequestId) -> Result<Value, i32> {
        loop {
            let message = self.connection.receiver.recv_timeout(PATIENCE).unwrap();
            match message {
                Message::Response(response) if response.id == *id => {
                    return response.response_result.map_err(|error| error.code);
                }
                other => self.receive(other),
            }
        }
    }

    fn receive(&mut self, message: Message) {
        match message {
            Message::Notification(sent) if sent.method == "textDocument/publishDiagnostics" => {
                let uri = sent.params["uri"].as_str().unwrap();
                let root = format!("{}/", self.uri(""));
                let path = uri.strip_prefix(&root).unwrap_or(uri).to_owned();
                let diagnostics = sent.params["diagnostics"].as_array().unwrap().clone();
                if diagnostics.is_empty() {
                    self.shown.remove(&path);
                } else {
                    self.shown.insert(path, diagnostics);
                }
            }
            Message::Notification(sent) => self.received.push((sent.method, sent.params)),
            Message::Request(asked) => {
                let result = match asked.method.as_str() {
                    "workspace/configuration" => {
                        let count = asked.params["items"].as_array().unwrap().len();
                        Value::Array(vec![self.settings.clone(); count])
                    }
                    _ => Value::Null,
                };
                self.received.push((asked.method, asked.params));
                let answer = Response {
                    id: asked.id,
                    response_result: Ok(result),
                };
                self.connection.sender.send(answer.into()).unwrap();
            }
            Message::Response(late) => panic!("unexpected answer: {late:?}"),
        }
    }

    /// Waits until everything that was sent is analysed: requests are answered from the latest analysis.
    pub(super) fn settle(&mut self) {
        let uri = self.uri("none.yaml");
        let range = json!({ "start": position(0, 0), "end": position(0, 0) });
        let params = json!({
            "textDocument": { "uri": uri }, "range": range, "context": { "diagnostics": [] },
        });
        // The first answer may be from an analysis that began before the last change was received.
        for _ in 0..2 {
            self.request("textDocument/codeAction", params.clone())
                .unwrap();
        }
    }

    pub(super) fn open_document(&mut self, path: &str, text: &str) {
        self.versions.insert(path.to_owned(), 1);
        self.notify(
            "textDocument/didOpen",
            json!({ "textDocument": {
                "uri": self.uri(path), "languageId": "yaml", "version": 1, "text": text,
            } }),
        );
    }

    /// Replaces the text of an open document.
    pub(super) fn change(&mut self, path: &str, text: &str) {
        self.change_by(path, json!([{ "text": text }]));
    }

    pub(super) fn change_by(&mut self, path: &str, changes: Value) {
        let uri = self.uri(path);
        let version = self.versions.get_mut(path).unwrap();
        *version += 1;
        let params = json!({
            "textDocument": { "uri": uri, "version": *version }, "contentChanges": changes,
        });
        self.notify("textDocument/didChange", params);
    }

    pub(super) fn save(&self, path: &str) {
        let params = json!({ "textDocument": { "uri": self.uri(path) } });
        self.notify("textDocument/didSave", params);
    }

    pub(super) fn close(&self, path: &str) {
        let params = json!({ "textDocument": { "uri": self.uri(path) } });
        self.notify("textDocument/didClose", params);
    }

    /// Reports a change on disk: 1 is a creation, 2 a change and 3 a deletion.
    pub(super) fn changed_on_disk(&self, path: &str, kind: u32) {
        let changes = json!([{ "uri": self.uri(path), "type": kind }]);
        self.notify(
            "workspace/didChangeWatchedFiles",
            json!({ "changes": changes }),
        );
    }

    /// Returns the code actions for a line of a document.
    pub(super) fn actions(&mut self, path: &str, line: usize) -> Vec<Value> {
        self.actions_of_kind(path, line, Value::Null)
    }

    pub(super) fn actions_of_kind(&mut self, path: &str, line: usize, only: Value) -> Vec<Value> {
        let mut context = json!({ "diagnostics": [] });
        if !only.is_null() {
            context["only"] = only;
        }
        let range = json!({ "start": position(line, 0), "end": position(line, 0) });
        let params = json!({
            "textDocument": { "uri": self.uri(path) }, "range": range, "context": context,
        });
        let answer = self.request("textDocument/codeAction", params).unwrap();
        answer.as_array().cloned().unwrap_or_default()
    }

    /// Returns what the diagnostics of a file say: severity, rule, line from 1, and first line of the message.
    pub(super) fn summary(&self, path: &str) -> Vec<String> {
        let shown = self.shown.get(path).into_iter().flatten();
        let line = |diagnostic: &Value| {
            let message = diagnostic["message"].as_str().unwrap();
            format!(
                "{} {} {}: {}",
                diagnostic["severity"],
                diagnostic["code"].as_str().unwrap_or("-"),
                diagnostic["range"]["start"]["line"].as_u64().unwrap() + 1,
                message.lines().next().unwrap_or_default()
            )
        };
        shown.map(line).collect()
    }

    /// Ends the server in order.
    pub(super) fn shut_down(mut self) -> Exit {
        self.request("shutdown", Value::Null).unwrap();
        self.notify("exit", Value::Null);
        self.exit()
    }

    /// Waits for the end of the server.
    pub(super) fn exit(&mut self) -> Exit {
        self.server.take().unwrap().join().unwrap().unwrap()
    }

    /// Closes the connection, as a client that dies.
    pub(super) fn die(mut self) -> Exit {
        let server = self.server.take().unwrap();
        drop(self.connection);
        server.join().unwrap().unwrap()
    }
}

pub(super) fn position(line: usize, character: usize) -> Value {
    json!({ "line": line, "character": character })
}

/// Returns the text of a file of the project after an edit of a workspace.
pub(super) fn edited(editor: &Editor<'_>, path: &str, text: &str, edit: &Value) -> String {
    let uri = editor.uri(path);
    let edits = match &edit["documentChanges"] {
        Value::Array(documents) => {
            let of_file = |document: &&Value| document["textDocument"]["uri"] == uri.as_str();
            &documents.iter().find(of_file).unwrap()["edits"]
        }
        _ => &edit["changes"][&uri],
    };
    let mut spans: Vec<(usize, usize, &str)> = edits
        .as_array()
        .unwrap()
        .iter()
        .map(|edit| {
            let range = &edit["range"];
            let at = |end: &str| offset(text, &range[end]);
            (at("start"), at("end"), edit["newText"].as_str().unwrap())
        })
        .collect();
    spans.sort_unstable();
    let mut text = text.to_owned();
    for (start, end, new) in spans.into_iter().rev() {
        text.replace_range(start..end, new);
    }
    text
}

/// Returns the offset of a position that counts code units of UTF-16.
fn offset(text: &str, position: &Value) -> usize {
    let line = usize::try_from(position["line"].as_u64().unwrap()).unwrap();
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let mut left = position["character"].as_u64().unwrap();
    for (at, character) in text[start..].char_indices() {
        if left == 0 {
            return start + at;
        }
        left -= character.len_utf16() as u64;
    }
    text.len()
}

pub(super) fn write_and_report(editor: &Editor<'_>, path: &str, text: &str) {
    let existed = Path::new(&editor.project.path(path)).exists();
    editor.project.write(path, text);
    editor.changed_on_disk(path, if existed { 2 } else { 1 });
}
