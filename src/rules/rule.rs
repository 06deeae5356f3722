//! What a rule is: its documentation, its metadata, one function.

use crate::finding::{Finding, Severity};

use super::Scene;

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// The public id, kebab-case; it names the fault.
    pub id: &'static str,
    /// The severity when every fact is known.
    pub severity: Severity,
    /// The documentation in Markdown, from the doc comment: the only text there is.
    pub docs: &'static str,
    /// Whether its findings bring a fix.
    pub fix: FixAvailability,
    /// What the rule is shown at a time.
    pub scope: Scope,
    /// Returns the findings.
    pub check: fn(&Scene<'_, '_>) -> Vec<Finding>,
}

/// Whether the findings of a rule bring a fix, of whatever applicability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixAvailability {
    /// None does.
    None,
    /// Some do.
    Sometimes,
    /// All do.
    Always,
}

/// What a rule is shown at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The workloads of one render unit: what several overlays make of a base is compared
    /// afterwards.
    Workloads,
    /// Everything at once: for rules about Namespaces, policies and the installation.
    Tree,
}

/// The parts of a rule's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    /// The first line.
    pub summary: String,
    /// The YAML under "Example": it must give a finding.
    pub example: Option<String>,
    /// The YAML under "Use instead": it must be silent.
    pub use_instead: Option<String>,
}

impl Rule {
    /// Takes the documentation apart.
    #[must_use]
    pub fn sections(&self) -> Sections {
        let summary = self
            .docs
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty());
        Sections {
            summary: summary.unwrap_or_default().to_owned(),
            example: yaml_under(self.docs, "## Example"),
            use_instead: yaml_under(self.docs, "## Use instead"),
        }
    }
}

fn yaml_under(docs: &str, heading: &str) -> Option<String> {
    let mut lines = docs
        .lines()
        .map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.find(|line| line.trim() == heading)?;
    lines.find(|line| line.trim() == "```yaml")?;
    let block: Vec<&str> = lines.take_while(|line| line.trim() != "```").collect();
    Some(block.join("\n") + "\n")
}

/// Declares the rule of a file: its doc comment becomes its documentation.
macro_rules! declare_rule {
    ($(#[doc = $doc:literal])+ $id:literal, $severity:ident, fix: $fix:ident, scope: $scope:ident) => {
        $(#[doc = $doc])+
        pub(super) const RULE: $crate::rules::Rule = $crate::rules::Rule {
            id: $id,
            severity: $crate::finding::Severity::$severity,
            docs: concat!($($doc, "\n"),+),
            fix: $crate::rules::FixAvailability::$fix,
            scope: $crate::rules::Scope::$scope,
            check,
        };
    };
}
pub(super) use declare_rule;
