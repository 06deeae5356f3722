//! The main thread: the life cycle, the open documents, and the routing of requests.

use std::io;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use crossbeam_channel::RecvTimeoutError;
use gen_lsp_types::{
    ChangeNotifications, CodeActionKind, CodeActionOptions, InitializeParams, InitializeResult,
    Save, ServerCapabilities, ServerInfo, TextDocumentSyncKind, TextDocumentSyncOptions, Uri,
    WorkspaceFolders, WorkspaceFoldersServerCapabilities, WorkspaceOptions,
};
use lsp_server::{Connection, ErrorCode, Message, Request, Response};
use rayon::ThreadPool;
use serde_json::{Value, to_value};

use super::client::{Client, Supports};
use super::encoding::uri_of;
use super::loader::Loader;
use super::session::Session;
use super::shared::Shared;
use super::{loader, requests};
use meshprobe_engine::engine::Exit;

/// How often the server looks for the process that started it.
const PARENT_INTERVAL: Duration = Duration::from_secs(5);

/// What the server needs from its caller.
pub struct Environment {
    /// Reads the settings of folders.
    pub loader: Arc<dyn Loader>,
    /// The threads of the analyses.
    pub pool: ThreadPool,
}

/// Runs the server until the client ends it, closes the connection, or dies.
///
/// Returns success if the client has sent `shutdown` before, and exit code 1 otherwise, as the protocol requires.
///
/// # Errors
/// A thread cannot be started.
pub fn serve(connection: &Connection, environment: Environment) -> io::Result<Exit> {
    let mut client = Client::new(connection.sender.clone());
    let Some(params) = initialize(connection, &mut client) else {
        return Ok(Exit::Findings);
    };
    let process = params.process_id.and_then(|id| u32::try_from(id).ok());
    let shared = Arc::new(Shared {
        client,
        loader: environment.loader,
        pool: environment.pool,
        pending: Mutex::default(),
        roots: RwLock::default(),
    });
    let settings = params.initialization_options.as_ref();
    let settings = settings.map(loader::section);
    let mut session = Session::new(shared, folders(&params), settings);
    let exit = run(connection, &mut session, process);
    session.end();
    // Workers may still be analysing.
    session.client().close();
    exit
}

/// Waits for `initialize` and answers it. Returns `None` if the connection ends before.
fn initialize(connection: &Connection, client: &mut Client) -> Option<InitializeParams> {
    for message in &connection.receiver {
        match message {
            Message::Request(request) if request.method == "initialize" => {
                match serde_json::from_value::<InitializeParams>(request.params) {
                    Ok(params) => {
                        client.supports = Supports::of(&params.capabilities);
                        let answer = answer(&client.supports);
                        client.respond(request.id, Ok(to_value(answer).unwrap_or_default()));
                        return Some(params);
                    }
                    Err(error) => {
                        let error = requests::error(ErrorCode::InvalidParams, &error.to_string());
                        client.respond(request.id, Err(error));
                    }
                }
            }
            Message::Request(request) => {
                let message = "the server is not initialized";
                let error = requests::error(ErrorCode::ServerNotInitialized, message);
                client.respond(request.id, Err(error));
            }
            Message::Notification(exit) if exit.method == "exit" => return None,
            Message::Notification(_) | Message::Response(_) => {}
        }
    }
    None
}

fn run(connection: &Connection, session: &mut Session, process: Option<u32>) -> io::Result<Exit> {
    let mut is_shut_down = false;
    loop {
        let message = match connection.receiver.recv_timeout(PARENT_INTERVAL) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => {
                if process.is_some_and(|process| !is_running(process)) {
                    return Ok(Exit::Findings);
                }
                session.start_if_waiting()?;
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Ok(Exit::Success.or(!is_shut_down, Exit::Findings));
            }
        };
        match message {
            Message::Notification(exit) if exit.method == "exit" => {
                return Ok(Exit::Success.or(!is_shut_down, Exit::Findings));
            }
            Message::Request(request) if is_shut_down => {
                let error = requests::error(ErrorCode::InvalidRequest, "the server is shut down");
                session.client().respond(request.id, Err(error));
            }
            Message::Request(request) if request.method == "shutdown" => {
                is_shut_down = true;
                session.end();
                session.client().respond(request.id, Ok(Value::Null));
            }
            Message::Request(request) => dispatch(session, request),
            Message::Notification(_) if is_shut_down => {}
            Message::Notification(notification) => {
                session.notified(&notification.method, notification.params)?;
            }
            Message::Response(Response {
                id,
                response_result,
            }) => session.answered(&id, response_result.unwrap_or_default())?,
        }
    }
}

/// Passes a request to the folder of its document.
fn dispatch(session: &mut Session, request: Request) {
    let error = if request.method == "initialize" {
        requests::error(
            ErrorCode::InvalidRequest,
            "the server is already initialized",
        )
    } else if !requests::is_known(&request.method, &session.client().supports) {
        let message = format!("unknown method `{}`", request.method);
        requests::error(ErrorCode::MethodNotFound, &message)
    } else {
        return session.query(request);
    };
    session.client().respond(request.id, Err(error));
}

/// Returns the answer to `initialize`.
pub(super) fn answer(supports: &Supports) -> InitializeResult {
    let mut capabilities = ServerCapabilities {
        position_encoding: Some(supports.encoding.kind()),
        text_document_sync: Some(
            TextDocumentSyncOptions {
                open_close: Some(true),
                change: Some(TextDocumentSyncKind::Incremental),
                save: Some(Save::Bool(true)),
                ..TextDocumentSyncOptions::default()
            }
            .into(),
        ),
        code_action_provider: Some(
            CodeActionOptions {
                code_action_kinds: Some(vec![
                    CodeActionKind::QuickFix,
                    CodeActionKind::RefactorRewrite,
                    CodeActionKind::Custom(requests::FIX_ALL.into()),
                ]),
                resolve_provider: Some(supports.resolve_edits),
                ..CodeActionOptions::default()
            }
            .into(),
        ),
        workspace: Some(WorkspaceOptions {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(ChangeNotifications::Bool(true)),
            }),
            ..WorkspaceOptions::default()
        }),
        ..ServerCapabilities::default()
    };
    requests::announce(&mut capabilities, supports);
    InitializeResult {
        capabilities,
        server_info: Some(ServerInfo {
            name: "meshprobe".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
    }
}

/// Returns the folders of the workspace: `workspaceFolders`, else `rootUri`, else `rootPath`.
#[expect(
    deprecated,
    reason = "clients that do not know workspace folders send only these"
)]
pub(super) fn folders(params: &InitializeParams) -> Vec<Uri> {
    let given = &params.workspace_folders_initialize_params.workspace_folders;
    if let Some(WorkspaceFolders::WorkspaceFolderList(folders)) = given {
        return folders.iter().map(|folder| folder.uri.clone()).collect();
    }
    if let Some(uri) = &params.root_uri {
        return vec![uri.clone()];
    }
    match &params.root_path {
        Some(gen_lsp_types::RootPath::String(path)) => vec![uri_of(path.as_ref())],
        _ => Vec::new(),
    }
}

/// Returns whether a process runs; `true` if it cannot be determined.
#[cfg(target_os = "linux")]
pub(super) fn is_running(process: u32) -> bool {
    // A process that has ended and that no one has waited for is a zombie.
    match std::fs::read_to_string(format!("/proc/{process}/stat")) {
        Ok(stat) => {
            let state = stat
                .rsplit(") ")
                .next()
                .and_then(|rest| rest.chars().next());
            !matches!(state, Some('Z' | 'X'))
        }
        // Without `/proc`, nothing is known about any process.
        Err(_) => !std::path::Path::new("/proc/self/stat").exists(),
    }
}

/// Elsewhere, the server ends when its standard input is closed, which also happens when the client dies.
#[cfg(not(target_os = "linux"))]
pub(super) const fn is_running(_process: u32) -> bool {
    true
}
