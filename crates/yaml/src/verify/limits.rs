//! Limits on documents that are verified.

/// Limit on the nodes that aliases repeat; a document that exceeds it is an attack or a mistake.
pub(super) const REPEATED: usize = 100_000;
/// Limit on nesting that both parsers support.
pub(super) const DEPTH: usize = 128;
