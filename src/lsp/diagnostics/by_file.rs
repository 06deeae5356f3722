//! Diagnostics of several files.

use std::collections::BTreeMap;
use std::sync::Arc;

use gen_lsp_types::Diagnostic;

/// Diagnostics by the displayed path of their file.
pub(in crate::lsp) type ByFile = BTreeMap<Arc<str>, Vec<Diagnostic>>;

/// The name of the tool in diagnostics.
pub(in crate::lsp) const SOURCE: &str = "meshprobe";
