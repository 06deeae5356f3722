//! Progress of the first load of a folder.

use gen_lsp_types::{
    ProgressParams, WorkDoneProgressBegin, WorkDoneProgressCreateParams, WorkDoneProgressEnd,
};
use serde_json::Value;

use super::client::Client;

/// Shows a progress message while it is alive.
#[derive(Debug)]
pub(super) struct Progress {
    client: Client,
    token: Option<String>,
}

impl Progress {
    /// Starts to show `title`, if the client supports it. `token` must not be in use.
    pub(super) fn begin(client: &Client, token: String, title: String) -> Self {
        let token = client.supports.progress.then_some(token);
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
