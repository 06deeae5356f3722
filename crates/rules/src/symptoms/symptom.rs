//! A symptom: the texts that users paste, with its page.

use meshprobe_mesh::finding::{Finding, RuleId, page_url};

use crate::symptoms::pattern::Pattern;

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
        without_links(&paragraph.lines().collect::<Vec<_>>().join(" "))
    }

    /// Returns the causes that the page describes, in its order.
    #[must_use]
    pub fn causes(&self) -> Vec<Cause> {
        causes(self.page)
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
        for_terminal(self.page)
    }

    /// Returns the URL of the page.
    #[must_use]
    pub fn docs_url(&self) -> String {
        page_url(&format!("symptoms/{}.md", self.id))
    }
}

/// The heading of the section with the causes.
const CAUSES: &str = "## Causes";
/// The start of the paragraph that a test generates: the rule and the outcome of the manifest of a cause.
const FOUND: &str = "Found by ";

/// A cause that a page describes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// The heading.
    pub title: String,
    /// The rule that reports the cause; `None` if no rule does.
    pub rule: Option<String>,
    /// The relevant lines of a manifest.
    pub excerpt: String,
    /// The complete manifest, if it is not the example of the rule.
    pub manifest: Option<String>,
    /// The paragraph with the rule and the outcome, and the text that the kubelet prints.
    pub found: String,
}

/// Returns the causes of a page.
pub(super) fn causes(page: &str) -> Vec<Cause> {
    let section = page.split(CAUSES).nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    section.split("\n### ").skip(1).map(cause).collect()
}

fn cause(text: &str) -> Cause {
    let (title, body) = text.split_once('\n').unwrap_or((text, ""));
    let (shown, folded) = body.split_once("<details>").unwrap_or((body, ""));
    // The generated paragraph is the last one, in front of the folded manifest.
    let found = shown.find(FOUND).and_then(|at| shown.get(at..));
    let found = found.unwrap_or_default().trim().to_owned();
    let rule = found.strip_prefix(FOUND).and_then(|rest| {
        let (id, _) = rest.strip_prefix('[')?.split_once(']')?;
        Some(id.to_owned())
    });
    Cause {
        title: title.trim().to_owned(),
        rule,
        excerpt: yaml(shown).unwrap_or_default(),
        manifest: yaml(folded),
        found,
    }
}

/// Returns the first YAML block of a text.
fn yaml(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("```yaml\n")?;
    let (block, _) = rest.split_once("```")?;
    Some(block.to_owned())
}

/// Returns a page without folded parts, comments and targets of links.
pub(super) fn for_terminal(page: &str) -> String {
    let mut shown = String::with_capacity(page.len());
    let mut is_folded = false;
    for line in page.lines() {
        is_folded |= line == "<details>";
        if !is_folded && !line.starts_with("<!--") {
            shown.push_str(line);
            shown.push('\n');
        }
        is_folded &= line != "</details>";
    }
    while shown.contains("\n\n\n") {
        shown = shown.replace("\n\n\n", "\n\n");
    }
    without_links(&shown)
}

/// Replaces each link `[text](target)` by its text. Text in more than one pair of brackets is kept.
pub(super) fn without_links(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        plain.push_str(before);
        let parts = link.split_once("](").and_then(|(name, after)| {
            let (_, after) = after.split_once(')')?;
            (!name.contains(['[', ']', '\n'])).then_some((name, after))
        });
        match parts {
            Some((name, after)) => {
                plain.push_str(name);
                rest = after;
            }
            None => {
                plain.push('[');
                rest = link;
            }
        }
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_replaced_by_their_text() {
        assert_eq!(
            without_links("see [a](../a.md) and [[b]](c), x[0], [d"),
            "see a and [[b]](c), x[0], [d"
        );
    }

    #[test]
    fn the_parts_of_a_cause_are_read() {
        let page = "# t\n\n## Causes\n\n### One\n\nWhy.\n\n```yaml\na: b\n```\n\nFound by [r](../rules/r.md): **fails**.\n\n\
                    <details>\n\n```yaml\nx:\n  a: b\n```\n\n</details>\n\n## Next\n";
        let [cause] = causes(page).try_into().unwrap();
        assert_eq!(cause.title, "One");
        assert_eq!(cause.rule.as_deref(), Some("r"));
        assert_eq!(cause.excerpt, "a: b\n");
        assert_eq!(cause.manifest.as_deref(), Some("x:\n  a: b\n"));
        assert_eq!(cause.found, "Found by [r](../rules/r.md): **fails**.");
        assert!(!for_terminal(page).contains("x:"));
    }
}
