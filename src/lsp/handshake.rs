//! The answer to `initialize`: what the server can do.

use gen_lsp_types::{
    ChangeNotifications, CodeActionKind, CodeActionOptions, InitializeParams, InitializeResult,
    Save, ServerCapabilities, ServerInfo, TextDocumentSyncKind, TextDocumentSyncOptions, Uri,
    WorkspaceFolders, WorkspaceFoldersServerCapabilities, WorkspaceOptions,
};

use super::client::Supports;
use super::requests;
use super::uri::uri_of;

/// Returns the answer to `initialize`.
pub(super) fn answer(supports: &Supports) -> InitializeResult {
    let mut capabilities = ServerCapabilities {
        position_encoding: Some(supports.encoding.kind()),
        text_document_sync: Some(
            TextDocumentSyncOptions {
                open_close: Some(true),
                change: Some(TextDocumentSyncKind::Incremental),
                save: Some(Save::Bool(true)),
                will_save: Some(true),
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
            name: env!("CARGO_PKG_NAME").to_owned(),
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
