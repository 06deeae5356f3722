//! Notices, which the engine reports instead of a rule, and the pages of everything that reports can name.

use std::sync::LazyLock;

use meshprobe_mesh::finding::{RuleId, Severity, rule_id};
use meshprobe_mesh::settings::RuleNames;

use super::page::{page, page_body, written_sections};
use super::runner::all;

/// A kind of finding with its page.
#[derive(Clone, Copy, Debug)]
pub struct Notice {
    /// The id. Rules, notices and guards share one set of ids.
    pub id: RuleId,
    /// The usual severity.
    pub severity: Severity,
    /// The page, `docs/rules/<id>.md`.
    pub page: &'static str,
}

impl Notice {
    /// Returns the page without its first two paragraphs, the id and the metadata, and without the generated sections.
    #[must_use]
    pub fn docs(&self) -> String {
        written_sections(page_body(self.page))
    }
}

/// Declares a list of notices with their pages.
macro_rules! pages {
    ($list:ident: $($name:ident = $id:literal, $severity:ident;)+) => {
        const $list: &[Notice] = &[$(Notice {
            id: rule_id!($id),
            severity: Severity::$severity,
            page: page!($id),
        }),+];
    };
}

/// Declares the notices: the constant, the id and the usual severity of each.
macro_rules! notices {
    ($($name:ident = $id:literal, $severity:ident;)+) => {
        $(
            #[doc = concat!("The id `", $id, "`.")]
            pub const $name: RuleId = rule_id!($id);
        )+
        pages! { NOTICES: $($name = $id, $severity;)+ }
    };
}

notices! {
    AMBIGUOUS_YAML = "ambiguous-yaml", Warning;
    DUPLICATE_KEY = "duplicate-key", Warning;
    EDIT_REFUSED = "edit-refused", Error;
    FILE_LEFT_OUT = "file-left-out", Error;
    INTERNAL_ERROR = "internal-error", Error;
    INVALID_SUPPRESSION = "invalid-suppression", Warning;
    NOT_MODELLED = "kustomization-not-modelled", Note;
    NOT_RENDERED = "not-rendered", Error;
    NOT_REWRITTEN = "not-rewritten-ahead", Error;
    NOT_UTF8 = "not-utf8", Error;
    OVERLAY_LEFT_OUT = "overlay-left-out", Error;
    POLICY_LEFT_OUT = "policy-left-out", Note;
    PROBE_REGRESSION = "probe-regression", Error;
    SYNTAX_ERROR = "syntax-error", Error;
    UNREADABLE_FILE = "unreadable-file", Error;
    UNUSED_SUPPRESSION = "unused-suppression", Note;
}

/// Declares the guards and notes of `rewrite`: reasons not to rewrite a pod, and information about rewritten pods.
macro_rules! guard_pages {
    (ALL: $($guards:tt)+) => { pages! { GUARDS: $($guards)+ } };
}
meshprobe_mesh::guards!(guard_pages);

/// Returns all rules, notices and guards, sorted by id.
#[must_use]
pub fn explained() -> Vec<Notice> {
    let rules = all().iter().map(|rule| Notice {
        id: rule.id,
        severity: rule.severity,
        page: rule.page,
    });
    let mut notices: Vec<Notice> = rules.chain(NOTICES.iter().chain(GUARDS).copied()).collect();
    notices.sort_by_key(|notice| notice.id);
    notices
}

static NAMES: LazyLock<RuleNames> = LazyLock::new(|| {
    let rules = all().iter().map(|rule| rule.id);
    RuleNames::new(rules.chain(NOTICES.iter().map(|notice| notice.id)))
});

/// Returns the ids of all rules, notices and guards.
#[must_use]
pub fn rule_names() -> &'static RuleNames {
    &NAMES
}

#[cfg(test)]
mod tests {
    use meshprobe_mesh::finding::GuardId;

    use super::{NOTICES, rule_names};

    #[test]
    fn notices_are_sorted() {
        assert!(NOTICES.is_sorted_by_key(|notice| notice.id));
    }

    #[test]
    fn only_shared_ids_belong_to_rules_and_notices() {
        let reported = rule_names().reported();
        assert!(
            GuardId::SHARED
                .iter()
                .all(|guard| reported.contains(&guard.rule()))
        );
        assert!(
            GuardId::ALL
                .iter()
                .all(|guard| !reported.contains(&guard.rule()))
        );
    }
}
