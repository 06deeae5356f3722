//! The type of everything that `meshprobe rule` explains.

use meshprobe_mesh::finding::{RuleId, Severity};
use meshprobe_rules::rules;

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
            id: meshprobe_mesh::finding::rule_id!($id),
            severity: meshprobe_mesh::finding::Severity::$severity,
            page: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/docs/rules/",
                $id,
                ".md"
            )),
        }
    };
}
pub(super) use notice;
