//! Kinds of code actions that the protocol does not define.

/// The kind of the action that applies all safe fixes of a document.
pub(in crate::lsp) const FIX_ALL: &str = "source.fixAll.meshprobe";
