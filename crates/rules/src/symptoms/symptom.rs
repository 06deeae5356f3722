//! A symptom: a text that users see, with its page.

use meshprobe_mesh::finding::{Finding, RuleId, page_url};

use super::page::{self, Cause};
use super::pattern::Pattern;

/// A text that the kubelet, the API server or the agent prints, or a state of a pod, with the page that explains it.
#[derive(Debug)]
pub struct Symptom {
    /// The id, which is the name of the page: `docs/symptoms/<id>.md`.
    pub id: &'static str,
    /// The text of the page.
    pub page: &'static str,
    /// The patterns of the texts that lead to the page.
    pub patterns: &'static [Pattern],
}

impl Symptom {
    /// Returns the title of the page: the text that users see.
    #[must_use]
    pub fn title(&self) -> &'static str {
        let first = self.page.lines().next().unwrap_or_default();
        first.trim_start_matches("# ")
    }

    /// Returns the first paragraph of the page on one line.
    #[must_use]
    pub fn summary(&self) -> String {
        let paragraph = self.page.split("\n\n").nth(1).unwrap_or_default();
        page::without_links(&paragraph.lines().collect::<Vec<_>>().join(" "))
    }

    /// Returns the causes that the page describes, in its order.
    #[must_use]
    pub fn causes(&self) -> Vec<Cause> {
        page::causes(self.page)
    }

    /// Returns the ids of the rules that report the causes.
    #[must_use]
    pub fn rules(&self) -> Vec<String> {
        let causes = self.causes().into_iter();
        causes.filter_map(|cause| cause.rule).collect()
    }

    /// Returns whether a finding reports one of the causes.
    #[must_use]
    pub fn explains(&self, finding: &Finding) -> bool {
        self.names(finding.rule)
    }

    /// Returns whether the page names a rule as the rule of a cause.
    #[must_use]
    pub fn names(&self, rule: RuleId) -> bool {
        self.rules().iter().any(|name| name == rule.as_str())
    }

    /// Returns the page for a terminal: without the parts that a browser folds, and without targets of links.
    #[must_use]
    pub fn text(&self) -> String {
        page::for_terminal(self.page)
    }

    /// Returns the URL of the page.
    #[must_use]
    pub fn docs_url(&self) -> String {
        page_url(&format!("symptoms/{}.md", self.id))
    }
}
