//! The type of everything that `meshprobe rule` explains.

use crate::finding::{RuleId, Severity};
use crate::rules;

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
        rules::written_sections(rules::page_body(self.page))
    }
}

/// Declares a notice or guard. Its documentation is `docs/rules/<id>.md`.
macro_rules! notice {
    ($severity:ident, $id:literal) => {
        $crate::engine::notice::Notice {
            id: $crate::finding::rule_id!($id),
            severity: $crate::finding::Severity::$severity,
            page: $crate::rules::page!($id),
        }
    };
}
pub(super) use notice;
