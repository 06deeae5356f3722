//! Entries of `ignore` in the configuration.

use crate::finding::RuleId;

use super::Scope;

/// One entry of `ignore`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignore {
    /// The rule or notice.
    pub rule: RuleId,
    /// The files that the entry applies to; all files if `paths` is empty.
    pub scope: Scope,
    /// The reason that the user gives.
    pub reason: String,
    /// The line of the entry, from 1.
    pub line: usize,
}
