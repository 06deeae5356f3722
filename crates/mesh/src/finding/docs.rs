//! The addresses of the documentation.

use crate::finding::RuleId;

/// The address of the documentation, to which reports link: the folder `docs` of the repository. When the site that
/// `.github/workflows/pages.yml` publishes is live, this is its address.
pub const DOCS_URL: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs");

/// Returns the URL of a page, which is a path below `docs` such as `configuration.md`, with an optional anchor.
#[must_use]
pub fn page_url(page: &str) -> String {
    if DOCS_URL.contains("/blob/") {
        format!("{DOCS_URL}/{page}")
    } else {
        format!("{DOCS_URL}/{}", page.replacen(".md", ".html", 1))
    }
}

/// Returns the URL of the documentation of a rule, notice or guard.
#[must_use]
pub fn docs_url(rule: RuleId) -> String {
    page_url(&format!("rules/{rule}.md"))
}
