//! The type of a rule: its metadata, its documentation and its check.

use meshprobe_mesh::finding::{Certainty, Finding, RuleId, Severity};

use crate::rules::context::RuleContext;
use crate::rules::page::{page_body, written_sections};

/// A check with an id and a documentation page.
#[derive(Debug)]
pub struct Rule {
    /// The public id, which names the fault.
    pub id: RuleId,
    /// The severity if every fact is known.
    pub severity: Severity,
    /// Whether the findings report that something fails if the pod is injected at all. Such a finding stays at least a
    /// warning if a fact is assumed.
    pub is_failure: bool,
    /// The page of the rule, `docs/rules/<id>.md`.
    pub page: &'static str,
    /// Whether its findings have a fix.
    pub fix: FixAvailability,
    /// The predictions that one call of `check` receives.
    pub scope: Scope,
    /// Returns the findings.
    pub check: fn(&RuleContext<'_, '_>) -> Vec<Finding>,
}

/// Whether the findings of a rule have a fix, of any applicability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixAvailability {
    /// No finding has a fix.
    None,
    /// Some findings have a fix.
    Sometimes,
    /// All findings have a fix.
    Always,
}

impl FixAvailability {
    /// Returns the word for pages and lists.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Sometimes => "sometimes",
            Self::Always => "always",
        }
    }
}

/// The predictions that one call of a rule receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The workloads of one render unit. The findings about one base in several overlays are merged afterwards.
    Workloads,
    /// The whole tree, for rules about Namespaces, policies and the installation.
    Tree,
}

/// The parts of the documentation of a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    /// The first line.
    pub summary: String,
    /// The YAML under "Example". It must give findings of this rule only.
    pub example: Option<Example>,
    /// The YAML under "Use instead". It must give no findings.
    pub use_instead: Option<Example>,
}

/// An example of the documentation that a test can run.
///
/// A first line such as `# meshprobe check --mesh-version 1.26` contains the arguments of the example,
/// separated by spaces. A line such as `# file: base/web.yaml` starts another file; the example is run on the
/// folder with all files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// The arguments to add to `meshprobe check`.
    pub arguments: Vec<String>,
    /// The paths and texts of the files.
    pub files: Vec<(String, String)>,
}

impl Example {
    /// The path of the YAML of an example without a line `# file: …`.
    const ONLY_FILE: &str = "example.yaml";

    fn read(yaml: &str) -> Self {
        let arguments = Self::arguments_of(yaml);
        let mut files: Vec<(String, String)> = Vec::new();
        for line in yaml.lines() {
            if let Some(path) = line.strip_prefix("# file: ") {
                files.push((path.trim().to_owned(), String::new()));
                continue;
            }
            if files.is_empty() {
                files.push((Self::ONLY_FILE.to_owned(), String::new()));
            }
            if let Some((_, text)) = files.last_mut() {
                text.push_str(line);
                text.push('\n');
            }
        }
        // Only the line with the arguments may precede the first `# file:`.
        if files.len() > 1 {
            files.retain(|(path, _)| path != Self::ONLY_FILE);
        }
        Self { arguments, files }
    }

    /// Returns the arguments in the first line of an example.
    #[must_use]
    pub fn arguments_of(yaml: &str) -> Vec<String> {
        let first = yaml.lines().next().unwrap_or_default();
        first
            .strip_prefix("# meshprobe check ")
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    }
}

impl Rule {
    /// Returns the severity if a deciding fact is assumed.
    #[must_use]
    pub fn assumed_severity(&self) -> Severity {
        let lowered = self.severity.lowered();
        if self.is_failure {
            lowered.max(Severity::Warning)
        } else {
            lowered
        }
    }

    /// Returns the findings of the rule. Those that depend on an assumption are not below
    /// [`Rule::assumed_severity`] if they report a failure.
    pub(super) fn findings(&self, cx: &RuleContext<'_, '_>) -> Vec<Finding> {
        let mut findings = (self.check)(cx);
        if self.is_failure {
            for finding in &mut findings {
                if finding.certainty == Certainty::Assumed {
                    finding.severity = finding.severity.max(self.assumed_severity());
                }
            }
        }
        findings
    }

    /// Returns the page without the title, the line with severity and fix, and the generated sections.
    #[must_use]
    pub fn docs(&self) -> String {
        written_sections(page_body(self.page))
    }

    /// Splits the documentation into its sections.
    #[must_use]
    pub fn sections(&self) -> Sections {
        let docs = page_body(self.page);
        let summary = docs.lines().map(str::trim).find(|line| !line.is_empty());
        Sections {
            summary: summary.unwrap_or_default().to_owned(),
            example: yaml_under(docs, "## Example"),
            use_instead: yaml_under(docs, "## Use instead"),
        }
    }
}

/// Returns the first YAML block under a heading.
fn yaml_under(docs: &str, heading: &str) -> Option<Example> {
    let mut lines = docs.lines();
    lines.find(|line| line.trim() == heading)?;
    lines.find(|line| line.trim() == "```yaml")?;
    let block: Vec<&str> = lines.take_while(|line| line.trim() != "```").collect();
    Some(Example::read(&(block.join("\n") + "\n")))
}

/// Declares the rules of a file: of each the constant, the id, the severity if every fact is known, whether its findings
/// have a fix, the predictions that it receives, and the check. The documentation of a rule is `docs/rules/<id>.md`.
///
/// `failure` marks a rule whose findings report a failure ([`Rule::is_failure`]); all errors are failures.
macro_rules! rules {
    ($($name:ident = $id:literal, $severity:ident, $(failure: $failure:literal,)? fix: $fix:ident, scope: $scope:ident,
        $check:expr;)+) => {
        $(
            pub(super) const $name: $crate::rules::Rule = $crate::rules::Rule {
                id: meshprobe_mesh::finding::rule_id!($id),
                severity: meshprobe_mesh::finding::Severity::$severity,
                is_failure: false $(|| $failure)?,
                page: $crate::rules::page!($id),
                fix: $crate::rules::FixAvailability::$fix,
                scope: $crate::rules::Scope::$scope,
                check: $check,
            };
        )+

        pub(super) const RULES: &[&$crate::rules::Rule] = &[$(&$name),+];
    };
}
pub(super) use rules;
