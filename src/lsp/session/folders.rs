//! The folders of the workspace, and their settings.

use std::io;
use std::path::Path;
use std::sync::PoisonError;

use gen_lsp_types::{DidChangeWorkspaceFoldersParams, Uri};
use lsp_server::RequestId;
use serde_json::Value;

use super::Session;
use crate::lsp::jobs::{Change, Job};
use crate::lsp::root::Root;
use crate::lsp::settings;
use crate::lsp::uri::path_of;

impl Session {
    /// Processes the answer to a request of the server.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub(in crate::lsp) fn answered(&mut self, id: &RequestId, result: Value) -> io::Result<()> {
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
    pub(in crate::lsp) fn start_if_waiting(&mut self) -> io::Result<()> {
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
            let params = settings::request(folders.iter().cloned());
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
            self.workspaces.remove(&root);
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
                self.workspaces.remove(&Root { folder, only: None });
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
