//! Rules that an earlier version reported. Their ids stay valid in the configuration and in suppressions.

use std::sync::Arc;

use crate::finding::{RuleId, rule_id};

/// A rule that was removed.
#[derive(Debug, PartialEq, Eq)]
pub struct RemovedRule {
    /// The id, which is never reused.
    pub id: RuleId,
    /// What reports the fault instead, as a clause.
    pub replacement: &'static str,
}

/// All removed rules.
pub const REMOVED_RULES: &[RemovedRule] = &[RemovedRule {
    id: rule_id!("verdict-differs-between-overlays"),
    replacement: "the finding of the failing probe lists the environments in which it works",
}];

/// An entry of the configuration for a removed rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedRuleEntry {
    /// The rule.
    pub rule: &'static RemovedRule,
    /// The file of the entry, as shown to the user; set by the caller of the parser.
    pub file: Arc<str>,
    /// The line of the entry, from 1.
    pub line: usize,
}

impl RemovedRule {
    /// Returns the removed rule with this id.
    #[must_use]
    pub fn named(id: &str) -> Option<&'static Self> {
        REMOVED_RULES.iter().find(|rule| rule.id.as_str() == id)
    }

    /// Returns the message for a use of the id.
    #[must_use]
    pub fn message(&self) -> String {
        format!("rule `{}` was removed; {}", self.id, self.replacement)
    }
}
