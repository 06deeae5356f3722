//! Limits on merge keys.

/// Limit on the length of a chain of merge keys.
pub(crate) const MERGE_DEPTH: usize = 16;
/// Limit on the mappings that are searched for one key; a document that needs more is an attack.
pub(super) const MERGED_MAPPINGS: usize = 10_000;
