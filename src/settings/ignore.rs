//! Findings that the configuration silences.

use std::sync::Arc;

use super::Scope;

/// One entry of `ignore`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ignore {
    /// The id of the rule.
    pub rule: String,
    /// Which files it holds for; without `paths` for all.
    pub scope: Scope,
    /// Why.
    pub reason: String,
    /// The file of the entry, as shown to the user; for the caller to fill in.
    pub file: Arc<str>,
    /// The line of the entry, from 1.
    pub line: usize,
}
