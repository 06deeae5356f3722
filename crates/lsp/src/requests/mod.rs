//! Requests about documents: one file each, with a function from an [`Analysis`](super::analysis::Analysis) and the
//! parameters to the answer.
//!
//! A new request needs its file, its line in `REQUESTS`, and its capability in `announce`.

mod code_action;
mod code_action_resolve;
mod code_lens;
mod completion;
mod definition;
mod hover;
mod known_key;

use gen_lsp_types::{
    CodeLensOptions, CompletionOptions, DiagnosticOptions, ServerCapabilities, Uri,
};
use lsp_server::{ErrorCode, Request, ResponseError};
use rayon::ThreadPool;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::analysis::Analysis;
use crate::client::Supports;
use crate::diagnostics::SOURCE;

pub(super) use code_action::FIX_ALL;

type Answer = Result<Value, ResponseError>;

/// Answers a request with these parameters. Long work runs on the threads of the pool.
type Handler = fn(&Analysis, &ThreadPool, Value) -> Answer;

/// Requests the diagnostics of a document.
const DIAGNOSTICS: &str = "textDocument/diagnostic";

/// The requests that an analysis answers.
const REQUESTS: &[(&str, Handler)] = &[
    ("textDocument/codeAction", |analysis, pool, params| {
        typed(params, |params| {
            code_action::answer(analysis, pool, &params)
        })
    }),
    ("codeAction/resolve", |analysis, pool, params| {
        typed(params, |action| {
            code_action_resolve::answer(analysis, pool, action)
        })
    }),
    ("textDocument/codeLens", |analysis, _, params| {
        typed(params, |params| code_lens::lenses(analysis, &params))
    }),
    ("textDocument/completion", |analysis, _, params| {
        typed(params, |params| completion::answer(analysis, &params))
    }),
    ("textDocument/definition", |analysis, _, params| {
        typed(params, |params| definition::definition(analysis, &params))
    }),
    ("textDocument/hover", |analysis, _, params| {
        typed(params, |params| hover::answer(analysis, &params))
    }),
    ("textDocument/inlayHint", |analysis, _, params| {
        typed(params, |params| code_lens::hints(analysis, &params))
    }),
    ("textDocument/references", |analysis, _, params| {
        typed(params, |params| definition::references(analysis, &params))
    }),
];

/// Adds the capabilities of the requests, except code actions.
pub(crate) fn announce(capabilities: &mut ServerCapabilities, supports: &Supports) {
    let words = ["/", ".", "-", "[", " "].map(str::to_owned);
    capabilities.code_lens_provider = Some(CodeLensOptions::default());
    capabilities.completion_provider = Some(CompletionOptions {
        trigger_characters: Some(words.into()),
        ..CompletionOptions::default()
    });
    capabilities.definition_provider = Some(true.into());
    if supports.pull_diagnostics {
        let options = DiagnosticOptions {
            identifier: Some(SOURCE.to_owned()),
            inter_file_dependencies: true,
            workspace_diagnostics: false,
            ..DiagnosticOptions::default()
        };
        capabilities.diagnostic_provider = Some(options.into());
    }
    capabilities.hover_provider = Some(true.into());
    capabilities.inlay_hint_provider = Some(true.into());
    capabilities.references_provider = Some(true.into());
}

/// Returns whether the server answers requests of a method.
pub(crate) fn is_known(method: &str, supports: &Supports) -> bool {
    let is_pull = method == DIAGNOSTICS;
    REQUESTS.iter().any(|(known, _)| *known == method) || is_pull && supports.pull_diagnostics
}

/// Returns whether a request is for diagnostics, which the publisher of a folder answers: it knows which of them the client
/// has.
pub(crate) fn is_pull(request: &Request) -> bool {
    request.method == DIAGNOSTICS
}

/// Returns the document that a request is about. An item that the client wants to have completed names it in its data.
pub(crate) fn document(request: &Request) -> Option<Uri> {
    let params = &request.params;
    let uri = ["textDocument", "data"]
        .iter()
        .find_map(|key| params.get(key)?.get("uri")?.as_str())?;
    Some(Uri::from(uri))
}

/// Answers a request.
pub(crate) fn answer(analysis: &Analysis, pool: &ThreadPool, request: &Request) -> Answer {
    let found = REQUESTS.iter().find(|(known, _)| *known == request.method);
    match found {
        Some((_, handler)) => handler(analysis, pool, request.params.clone()),
        None => Ok(Value::Null),
    }
}

/// Returns an error with a message.
pub(crate) fn error(code: ErrorCode, message: &str) -> ResponseError {
    ResponseError {
        code: code as i32,
        message: message.to_owned(),
        data: None,
    }
}

/// Reads the parameters of a request, and writes its answer.
pub(crate) fn typed<P: DeserializeOwned, A: Serialize>(
    params: Value,
    answer: impl FnOnce(P) -> A,
) -> Answer {
    let params = serde_json::from_value(params)
        .map_err(|wrong| error(ErrorCode::InvalidParams, &wrong.to_string()))?;
    written(answer(params))
}

/// Writes the answer to a request.
pub(crate) fn written(answer: impl Serialize) -> Answer {
    serde_json::to_value(answer)
        .map_err(|wrong| error(ErrorCode::InternalError, &wrong.to_string()))
}
