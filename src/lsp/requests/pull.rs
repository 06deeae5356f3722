//! The requests for diagnostics, which the publisher of a folder answers: it knows which of them the client has.

/// Requests the diagnostics of a document.
pub(in crate::lsp) const DOCUMENT_DIAGNOSTICS: &str = "textDocument/diagnostic";

/// Requests the diagnostics of all documents.
pub(in crate::lsp) const WORKSPACE_DIAGNOSTICS: &str = "workspace/diagnostic";
