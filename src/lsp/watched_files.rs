//! Registers for changes of files and settings.

use gen_lsp_types::{
    DidChangeWatchedFilesRegistrationOptions, FileSystemWatcher, Registration, RegistrationParams,
};

use super::client::Client;

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
