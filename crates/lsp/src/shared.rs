//! What the main thread and the workers share.

use std::sync::{Arc, Mutex, RwLock};

use hashbrown::HashMap;
use lsp_server::{ErrorCode, Request, RequestId, ResponseError};
use rayon::ThreadPool;
use serde_json::Value;

use super::analysis::Analysis;
use super::client::{Client, locked};
use super::loader::{Loader, Root};
use super::requests;
use meshprobe_engine::engine::catch_panic;

/// What the main thread and the workers share.
pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) loader: Arc<dyn Loader>,
    pub(super) pool: ThreadPool,
    /// The requests that are not answered yet, and whether the client has cancelled them.
    pub(super) pending: Mutex<HashMap<RequestId, bool>>,
    /// The folders of the workspace.
    pub(super) roots: RwLock<Vec<Root>>,
}

impl Shared {
    /// Answers a request from an analysis, unless the client has cancelled it. A panic is an error of this request only.
    pub(super) fn answer(&self, analysis: &Analysis, request: Request) {
        let answer = catch_panic(|| {
            self.unless_cancelled(&request.id, || {
                requests::answer(analysis, &self.pool, &request)
            })
        });
        let answer = answer.unwrap_or_else(|panic| {
            let message = format!("meshprobe panicked: {panic}");
            Err(requests::error(ErrorCode::InternalError, &message))
        });
        self.respond(request.id, answer);
    }

    /// Returns the result of `work`, or an error if the client has cancelled the request.
    ///
    /// # Errors
    /// Those of `work`, and the cancellation.
    pub(super) fn unless_cancelled(
        &self,
        id: &RequestId,
        work: impl FnOnce() -> Result<Value, ResponseError>,
    ) -> Result<Value, ResponseError> {
        let is_cancelled = locked(&self.pending).get(id).copied();
        if is_cancelled.unwrap_or_default() {
            return Err(cancelled());
        }
        work()
    }

    /// Answers a request if it is still pending.
    pub(super) fn respond(&self, id: RequestId, answer: Result<Value, ResponseError>) {
        let pending = locked(&self.pending).remove(&id);
        if pending.is_some() {
            self.client.respond(id, answer);
        }
    }

    /// Answers all pending requests as cancelled.
    pub(super) fn cancel_pending(&self) {
        let pending = std::mem::take(&mut *locked(&self.pending));
        for id in pending.into_keys() {
            self.client.respond(id, Err(cancelled()));
        }
    }
}

/// Returns the answer to a request that is cancelled.
pub(super) fn cancelled() -> ResponseError {
    requests::error(ErrorCode::RequestCanceled, "cancelled")
}
