//! Finds out which folders the client grants.
//!
//! A client that opens the session with `initialize` answers the request `roots/list`; its answer is valid until it
//! sends `roots/list_changed`. A client of the protocol of 2026-07-28 has no session: the server answers a call with the
//! request, and the client repeats the call with its roots.
#![expect(
    deprecated,
    reason = "clients use roots, and no other way to grant files exists"
)]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, InputRequest, InputRequiredResult, ListRootsRequest, ListRootsResult,
};
use rmcp::service::RequestContext;

use super::error::ToolError;
use super::options::Options;
use super::roots::{Root, Roots};

/// The time limit of the answer to `roots/list`.
const PATIENCE: Duration = Duration::from_secs(10);

/// The key of the request for roots in a call that is repeated.
const KEY: &str = "roots";

/// What a call may read.
pub(super) enum Access {
    /// These folders.
    Roots(Roots),
    /// The client must repeat the call, with its roots.
    Ask(InputRequiredResult),
}

/// The roots of the client, as last reported.
#[derive(Debug, Default)]
pub(super) struct Granted {
    /// Counts the changes that the client has announced.
    changes: AtomicU64,
    /// The URIs, with the number of changes before they were requested.
    known: Mutex<Option<(u64, Vec<String>)>>,
}

impl Granted {
    /// Forgets the roots: the client announced that they changed.
    pub(super) fn forget(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns what a call may read.
    ///
    /// # Errors
    /// The client supports roots, but does not answer the request for them.
    pub(super) async fn access(
        &self,
        options: &Options,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Access, ToolError> {
        let supports_roots = context
            .client_capabilities()
            .is_some_and(|capabilities| capabilities.roots.is_some());
        if !supports_roots {
            return Ok(Access::Roots(without_client(options)));
        }
        // Only a session that was opened with `initialize` can be asked.
        let uris = if context.peer.peer_info().is_some() {
            self.request(context).await?
        } else {
            match repeated(request)? {
                Some(uris) => uris,
                None => return Ok(Access::Ask(question())),
            }
        };
        let mut roots = of_options(options);
        roots.add_uris(uris.iter().map(String::as_str));
        Ok(Access::Roots(roots))
    }

    /// Returns the known URIs, or requests them.
    async fn request(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Vec<String>, ToolError> {
        let changes = self.changes.load(Ordering::SeqCst);
        if let Some((known_changes, uris)) = &*self.lock()
            && *known_changes == changes
        {
            return Ok(uris.clone());
        }
        let answer = tokio::time::timeout(PATIENCE, context.peer.list_roots()).await;
        let listed = match answer {
            Ok(Ok(listed)) => listed,
            Ok(Err(error)) => {
                return Err(ToolError::new(format!(
                    "the client did not list its roots: {error}"
                )));
            }
            Err(_) => return Err(ToolError::new("the client did not list its roots in time")),
        };
        let uris = uris(listed);
        *self.lock() = Some((changes, uris.clone()));
        Ok(uris)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(u64, Vec<String>)>> {
        self.known
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Returns the roots of the command line, for a client that supports roots.
fn of_options(options: &Options) -> Roots {
    let mut roots = Roots {
        directory: options.directory.clone(),
        ..Roots::default()
    };
    for root in &options.roots {
        roots.add(root.clone());
    }
    roots
}

/// Returns the roots of the command line, or else the working directory.
fn without_client(options: &Options) -> Roots {
    let mut roots = of_options(options);
    if roots.folders.is_empty() {
        match Root::new(&options.directory) {
            // A client may start the server anywhere; it does not mean to grant all files of the user.
            Ok(root) if root.real.parent().is_none() || options.is_home(&root.real) => {
                roots.problems.push(format!(
                    "the working directory `{}` is not used as a root, because it may contain private files",
                    options.directory.display()
                ));
            }
            Ok(root) => roots.add(root),
            Err(problem) => roots.problems.push(problem),
        }
    }
    roots
}

/// Returns the request for roots.
fn question() -> InputRequiredResult {
    let request = InputRequest::ListRoots(ListRootsRequest::default());
    InputRequiredResult::from_input_requests(BTreeMap::from([(KEY.to_owned(), request)]))
}

/// Returns the roots in a repeated call.
fn repeated(request: &CallToolRequestParams) -> Result<Option<Vec<String>>, ToolError> {
    let answer = request
        .input_responses
        .as_ref()
        .and_then(|all| all.get(KEY));
    answer
        .map(|answer| serde_json::from_value(answer.clone()).map(uris))
        .transpose()
        .map_err(|error| ToolError::new(format!("cannot read the roots of the client: {error}")))
}

fn uris(listed: ListRootsResult) -> Vec<String> {
    listed.roots.into_iter().map(|root| root.uri).collect()
}
