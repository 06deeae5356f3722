//! Notices: the kinds of findings that the engine reports, and not a rule.

use std::sync::LazyLock;

use meshprobe_mesh::finding::{RuleId, rule_id};
use meshprobe_mesh::settings::RuleNames;
use meshprobe_rules::rules;

use crate::engine::guard_docs::GUARDS;
use crate::engine::notice::{Notice, notice};

pub(super) const AMBIGUOUS_YAML: RuleId = rule_id!("ambiguous-yaml");
pub(super) const DUPLICATE_KEY: RuleId = rule_id!("duplicate-key");
pub(super) const EDIT_REFUSED: RuleId = rule_id!("edit-refused");
pub(super) const FILE_LEFT_OUT: RuleId = rule_id!("file-left-out");
pub(super) const INTERNAL_ERROR: RuleId = rule_id!("internal-error");
pub(super) const INVALID_SUPPRESSION: RuleId = rule_id!("invalid-suppression");
pub(super) const NOT_MODELLED: RuleId = rule_id!("kustomization-not-modelled");
pub(super) const NOT_RENDERED: RuleId = rule_id!("not-rendered");
pub(super) const NOT_REWRITTEN: RuleId = rule_id!("not-rewritten-ahead");
pub(super) const NOT_UTF8: RuleId = rule_id!("not-utf8");
pub(super) const OVERLAY_LEFT_OUT: RuleId = rule_id!("overlay-left-out");
pub(super) const POLICY_LEFT_OUT: RuleId = rule_id!("policy-left-out");
/// A change that makes a probe worse, which only `diff` reports.
pub const PROBE_REGRESSION: RuleId = rule_id!("probe-regression");
pub(super) const SYNTAX_ERROR: RuleId = rule_id!("syntax-error");
pub(super) const UNREADABLE_FILE: RuleId = rule_id!("unreadable-file");
pub(super) const UNUSED_SUPPRESSION: RuleId = rule_id!("unused-suppression");

/// All notices, sorted by id.
pub const NOTICES: &[Notice] = &[
    notice!(Warning, "ambiguous-yaml"),
    notice!(Warning, "duplicate-key"),
    notice!(Error, "edit-refused"),
    notice!(Error, "file-left-out"),
    notice!(Error, "internal-error"),
    notice!(Warning, "invalid-suppression"),
    notice!(Note, "kustomization-not-modelled"),
    notice!(Error, "not-rendered"),
    notice!(Error, "not-rewritten-ahead"),
    notice!(Error, "not-utf8"),
    notice!(Error, "overlay-left-out"),
    notice!(Note, "policy-left-out"),
    notice!(Error, "probe-regression"),
    notice!(Error, "syntax-error"),
    notice!(Error, "unreadable-file"),
    notice!(Note, "unused-suppression"),
];

/// Returns all rules, notices and guards, sorted by id.
#[must_use]
pub fn explained() -> Vec<Notice> {
    let rules = rules::all().iter().map(|rule| Notice {
        id: rule.id,
        severity: rule.severity,
        page: rule.page,
    });
    let mut notices: Vec<Notice> = rules.chain(NOTICES.iter().chain(GUARDS).copied()).collect();
    notices.sort_by_key(|notice| notice.id);
    notices
}

static NAMES: LazyLock<RuleNames> = LazyLock::new(|| {
    let rules = rules::all().iter().map(|rule| rule.id);
    RuleNames::new(rules.chain(NOTICES.iter().map(|notice| notice.id)))
});

/// Returns the ids of all rules, notices and guards.
#[must_use]
pub fn rule_names() -> &'static RuleNames {
    &NAMES
}

#[cfg(test)]
mod tests {
    use super::NOTICES;

    #[test]
    fn notices_are_sorted() {
        assert!(NOTICES.is_sorted_by_key(|notice| notice.id));
    }
}
