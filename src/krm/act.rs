//! Checks and rewrites the resources of a call, and its result.

use std::collections::BTreeSet;

use meshprobe_mesh::finding::{Finding, Severity};
use meshprobe_mesh::settings::{Action, Settings};
use meshprobe_tree::source::SourceSet;

use meshprobe_engine::engine;
use meshprobe_engine::engine::{Exit, Outcome, RewriteCounts, Summary, failing};
use meshprobe_report::{escape_control, missing_verdicts};

/// The result of the actions.
#[derive(Default)]
pub(super) struct ActionResults {
    pub(super) findings: Vec<Finding>,
    /// The counts of the check.
    pub(super) summary: Summary,
    /// Why the call fails because of what the check did not judge.
    pub(super) missing_verdicts: Option<String>,
    /// What the rewrite does with the workloads, if there is one.
    pub(super) rewrite: Option<RewriteCounts>,
    /// The files after the rewrite, if there is one.
    pub(super) set: Option<SourceSet>,
}

impl ActionResults {
    /// Returns the exit code.
    pub(super) fn exit(&self, settings: &Settings) -> Exit {
        Exit::Success
            .or(failing(&self.findings, settings.fail_on), Exit::Findings)
            .or(self.missing_verdicts.is_some(), Exit::Findings)
    }
}

/// Performs the actions.
pub(super) fn act(
    set: &SourceSet,
    settings: &Settings,
    actions: &BTreeSet<Action>,
) -> ActionResults {
    let mut done = ActionResults::default();
    if actions.contains(&Action::Check) {
        let outcome = engine::check(set, settings);
        done.missing_verdicts = missing_verdicts(&outcome, settings.required);
        done.findings = outcome.findings;
        done.summary = outcome.summary;
    }
    if actions.contains(&Action::Rewrite) {
        let rewritten = engine::rewrite(set, settings);
        if actions.contains(&Action::Check) {
            let after = engine::check(&rewritten.set, settings);
            lower_fixed(&mut done.findings, &after);
        }
        let known: BTreeSet<_> = done.findings.iter().map(key).collect();
        let new: Vec<Finding> = rewritten
            .findings
            .into_iter()
            .filter(|finding| !known.contains(&key(finding)))
            .collect();
        done.findings.extend(new);
        let counts = RewriteCounts::of(&rewritten.workloads, &BTreeSet::new());
        done.rewrite = Some(counts);
        done.set = Some(rewritten.set);
    }
    done
}

/// Lowers findings that the rewrite has removed to notes.
fn lower_fixed(findings: &mut [Finding], after: &Outcome) {
    let left: BTreeSet<_> = after.findings.iter().map(key).collect();
    for finding in findings {
        if !left.contains(&key(finding)) {
            finding.severity = Severity::Note;
            finding.message.push_str(" (fixed by the rewrite)");
            finding.help = None;
            finding.fix = None;
        }
    }
}

/// Returns the fields by which a finding is recognized before and after the rewrite.
fn key(finding: &Finding) -> impl Ord + use<> {
    (
        finding.rule,
        finding.object.clone(),
        finding.container.clone(),
        finding.field.clone(),
    )
}

/// The result of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The text for standard output; `None` if the call fails.
    pub output: Option<String>,
    /// The text for standard error, one line per message.
    pub messages: String,
    /// The exit code.
    pub exit: Exit,
}

impl Answer {
    pub(super) fn failure(messages: &[String]) -> Self {
        Self {
            output: None,
            messages: messages
                .iter()
                .map(|message| format!("error: {}\n", escape_control(message)))
                .collect(),
            exit: Exit::Failure,
        }
    }
}

/// The configuration file that kustomize passes to a legacy plugin as the first argument.
#[derive(Clone, Copy, Debug)]
pub struct ConfigFile<'a> {
    /// The path, for messages.
    pub name: &'a str,
    /// The content.
    pub bytes: &'a [u8],
}

#[cfg(test)]
mod tests {
    use meshprobe_mesh::finding::{Label, rule_id};
    use meshprobe_yaml::Span;

    use super::*;

    #[test]
    fn a_finding_that_the_rewrite_fixes_becomes_a_note() {
        let finding = |container: &str| {
            let label = Label {
                path: "stdin".into(),
                span: Span::empty(0),
                message: String::new(),
            };
            let mut finding =
                Finding::new(rule_id!("r"), Severity::Error, label, "it fails".into());
            finding.container = Some(container.into());
            finding
        };
        let mut findings = [finding("a"), finding("b")];
        let after = Outcome {
            findings: vec![finding("b")],
            ..Outcome::default()
        };
        lower_fixed(&mut findings, &after);
        assert_eq!(findings[0].severity, Severity::Note);
        assert_eq!(findings[0].message, "it fails (fixed by the rewrite)");
        assert_eq!(findings[1], finding("b"));
    }
}
