//! Entries of `ignore` in the configuration.

use std::sync::Arc;

use crate::finding::RuleId;

use super::Scope;

/// One entry of `ignore`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignore {
    /// The rule or notice.
    pub rule: RuleId,
    /// The files that the entry applies to; all files if `paths` is empty.
    pub scope: Scope,
    /// Whether the run reads every file that the entry can apply to.
    pub is_covered: bool,
    /// The reason that the user gives.
    pub reason: String,
    /// The file of the entry, as shown to the user; set by the caller of the parser.
    pub file: Arc<str>,
    /// The line of the entry, from 1.
    pub line: usize,
}
