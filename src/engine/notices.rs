//! Notices: the kinds of findings that the engine reports, and not a rule.

use crate::rules;

use crate::engine::guard_docs::{GUARDS, is_guard};
use crate::engine::notice::{Notice, notice};

pub(super) const AMBIGUOUS_YAML: &str = "ambiguous-yaml";
pub(super) const DUPLICATE_KEY: &str = "duplicate-key";
pub(super) const EDIT_REFUSED: &str = "edit-refused";
pub(super) const FILE_LEFT_OUT: &str = "file-left-out";
pub(super) const INTERNAL_ERROR: &str = "internal-error";
pub(super) const INVALID_SUPPRESSION: &str = "invalid-suppression";
pub(super) const NOT_MODELLED: &str = "kustomization-not-modelled";
pub(super) const NOT_RENDERED: &str = "not-rendered";
pub(super) const NOT_REWRITTEN: &str = "not-rewritten-ahead";
pub(super) const NOT_UTF8: &str = "not-utf8";
pub(super) const OVERLAY_LEFT_OUT: &str = "overlay-left-out";
pub(super) const POLICY_LEFT_OUT: &str = "policy-left-out";
pub(super) const SYNTAX_ERROR: &str = "syntax-error";
pub(super) const TRACKED_HIDDEN: &str = "tracked-file-hidden";
pub(super) const UNREADABLE_FILE: &str = "unreadable-file";
pub(super) const UNUSED_SUPPRESSION: &str = "unused-suppression";

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
    notice!(Error, "syntax-error"),
    notice!(Error, "tracked-file-hidden"),
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

/// Returns the ids of all rules, notices and guards, sorted.
#[must_use]
pub fn rule_ids() -> Vec<&'static str> {
    explained().into_iter().map(|notice| notice.id).collect()
}

/// Returns the ids of all rules and notices that `check` can report, sorted.
#[must_use]
pub fn check_ids() -> Vec<&'static str> {
    rule_ids().into_iter().filter(|id| !is_guard(id)).collect()
}

#[cfg(test)]
mod tests {
    use super::NOTICES;

    #[test]
    fn notices_are_sorted() {
        assert!(NOTICES.is_sorted_by_key(|notice| notice.id));
    }
}
