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
    /// The YAML under "Example": it must give findings of the rule, and of no other.
    pub example: Option<Example>,
    /// The YAML under "Use instead": it must be silent.
    pub use_instead: Option<Example>,
}

/// An example of the documentation, ready to be run.
///
/// A first line such as `# meshprobe check --mesh-version 1.26` gives the arguments that the
/// example needs; they are separated by blanks. A line such as `# file: base/web.yaml` begins a
/// further file; the run is over the folder of all files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// What to add to `meshprobe check`.
    pub arguments: Vec<String>,
    /// Paths and texts.
    pub files: Vec<(String, String)>,
}

impl Example {
    /// Where the YAML of an example lies that names no file.
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
        // What stands above the first `# file:` is the line of arguments, if anything.
        if files.len() > 1 {
            files.retain(|(path, _)| path != Self::ONLY_FILE);
        }
        Self { arguments, files }
    }

    /// Returns the arguments that the first line of a text gives.
    #[must_use]
    pub fn arguments_of(yaml: &str) -> Vec<String> {
        let first = yaml.lines().next().unwrap_or_default();
        let given = first.strip_prefix("# meshprobe check ").unwrap_or_default();
        given.split_whitespace().map(str::to_owned).collect()
    }
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

fn yaml_under(docs: &str, heading: &str) -> Option<Example> {
    let mut lines = docs
        .lines()
        .map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.find(|line| line.trim() == heading)?;
    lines.find(|line| line.trim() == "```yaml")?;
    let block: Vec<&str> = lines.take_while(|line| line.trim() != "```").collect();
    Some(Example::read(&(block.join("\n") + "\n")))
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
