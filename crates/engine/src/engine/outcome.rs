//! The result of a run: its findings in order, with the levels of the settings applied, names that select nothing, and
//! the exit code.

use std::collections::BTreeSet;
use std::sync::Arc;

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::settings::{FailOn, RuleLevel, Settings};
use meshprobe_predict::context::{Context, NotJudged};
use meshprobe_predict::predict::{EnvironmentNames, WorkloadPrediction};
use meshprobe_rules::rules::notices::INTERNAL_ERROR;
use meshprobe_tree::source::{ContextOption, SourceSet};

use super::levels::Levels;
use super::summary::Summary;

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The findings, sorted by path, position and rule.
    pub findings: Vec<Finding>,
    /// The findings that the user has suppressed, in the same order.
    pub suppressed: Vec<Finding>,
    /// The findings of rules that the settings switch off, in the same order.
    pub switched_off: Vec<Finding>,
    /// What runs pods and is not judged, sorted by place.
    pub not_judged: Vec<NotJudged>,
    /// The option `--context` of the commands that messages recommend.
    pub context_option: ContextOption,
    /// If nothing was judged: the files that were read.
    pub files_without_workloads: Vec<Arc<str>>,
    /// If nothing was judged: the first object among these files that may decide about workloads of other files.
    pub fact_without_workloads: Option<String>,
    /// The names of environments in the settings that the tree does not have.
    pub unknown_environments: Option<UnknownEnvironments>,
    /// The counts of the run.
    pub summary: Summary,
}

impl Outcome {
    /// Restores the order of the suppressed findings after some were added.
    pub fn sort_suppressed(&mut self) {
        self.suppressed.sort_by(|a, b| order(a).cmp(&order(b)));
    }

    /// Returns all findings, suppressed or not, in order.
    #[must_use]
    pub fn all(&self) -> Vec<&Finding> {
        let mut all: Vec<&Finding> = self.findings.iter().chain(&self.suppressed).collect();
        all.sort_by(|a, b| order(a).cmp(&order(b)));
        all
    }
}

/// Findings in order, with the levels of the settings applied.
#[derive(Default)]
pub(super) struct Leveled {
    pub(super) findings: Vec<Finding>,
    /// The findings of rules that are not selected, or whose level is `ignore`.
    pub(super) switched_off: Vec<Finding>,
    /// How many findings the level `ignore` has removed.
    pub(super) ignored: usize,
    /// How many findings have another severity.
    pub(super) severity_changed: usize,
}

/// Applies the levels of the settings, and sorts the findings.
pub(super) fn with_levels(
    set: &SourceSet,
    findings: Vec<Finding>,
    settings: &Settings,
) -> Vec<Finding> {
    apply_levels(set, findings, &Levels::new(settings)).findings
}

/// Applies the levels of the settings, sorts the findings, and counts what the levels change.
pub(super) fn apply_levels(
    set: &SourceSet,
    findings: Vec<Finding>,
    levels: &Levels<'_>,
) -> Leveled {
    let mut leveled = Leveled::default();
    for mut finding in findings {
        let paths = paths_of(set, &finding);
        let level = |path: &Arc<str>| levels.level(finding.rule, path);
        if !paths
            .iter()
            .all(|path| levels.is_enabled(finding.rule, path))
        {
            let is_ignored = paths
                .iter()
                .any(|path| level(path) == Some(RuleLevel::Ignore));
            leveled.ignored += usize::from(is_ignored);
            leveled.switched_off.push(finding);
            continue;
        }
        if let Some(RuleLevel::Severity(severity)) = paths.iter().find_map(level) {
            leveled.severity_changed += usize::from(severity != finding.severity);
            finding.severity = severity;
        }
        leveled.findings.push(finding);
    }
    for list in [&mut leveled.findings, &mut leveled.switched_off] {
        list.sort_by(|a, b| order(a).cmp(&order(b)));
    }
    leveled
}

/// Returns the paths by which settings can select a finding: its path and, for a rendered file, the source file.
pub(super) fn paths_of(set: &SourceSet, finding: &Finding) -> Vec<Arc<str>> {
    let label = &finding.primary;
    set.source_of(&label.path, label.span)
        .map(|source| source.path)
        .into_iter()
        .chain([Arc::clone(&label.path)])
        .collect()
}

/// Returns the fields by which findings are sorted.
fn order(finding: &Finding) -> impl Ord + '_ {
    let place = &finding.primary;
    (
        &place.path,
        place.span,
        finding.rule,
        &finding.container,
        &finding.message,
    )
}

/// Names of environments that the tree does not have or that select no workload, and those that it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownEnvironments {
    /// The names that the user gives.
    pub given: Vec<String>,
    /// Whether environments have these names, but none of their workloads is among the given files, and others are.
    pub without_workloads: bool,
    /// The short names of all environments.
    pub known: BTreeSet<String>,
}

/// Returns the names in the settings that no environment has, or all if none of the workloads belongs to such an
/// environment; `None` if there is nothing to report.
pub(super) fn unknown_environments(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
) -> Option<UnknownEnvironments> {
    let mut given = context.unknown_environments();
    let mut without_workloads = false;
    if given.is_empty() {
        let mut groups = context.inventory.workload_groups.iter();
        let is_selected = predictions.iter().any(|prediction| prediction.is_target)
            || groups.any(|group| context.origin_of(group).is_target());
        if is_selected || !context.deselects_workloads() {
            return None;
        }
        given.clone_from(&context.settings.only_environments);
        without_workloads = true;
    }
    Some(UnknownEnvironments {
        given,
        without_workloads,
        known: environment_names(context, predictions),
    })
}

/// Returns the short names of all environments.
pub(super) fn environment_names(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = context.environment_names().map(str::to_owned).collect();
    names.extend(EnvironmentNames::of(predictions).all());
    names
}

/// The exit code of a run. The highest applicable code is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// No findings; all requested changes were made.
    #[default]
    Success,
    /// Findings at or above the limit, a change shown by `--diff`, a refused pod.
    Findings,
    /// Wrong usage or settings, a named path that cannot be read, a failed write.
    Failure,
}

impl Exit {
    /// Returns the exit code as a number.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Findings => 1,
            Self::Failure => 2,
        }
    }

    /// Returns `worse` if it is higher and `condition` is true; this exit code otherwise.
    #[must_use]
    pub fn or(self, condition: bool, worse: Self) -> Self {
        if condition { self.max(worse) } else { self }
    }
}

/// Returns whether a finding makes the run fail. A panic always does, because the findings that it prevented are unknown.
#[must_use]
pub fn failing(findings: &[Finding], fail_on: FailOn) -> bool {
    findings.iter().any(|finding| match fail_on {
        _ if finding.rule == INTERNAL_ERROR => true,
        FailOn::Never => false,
        FailOn::Severity(limit) => finding.severity >= limit,
    })
}

#[cfg(test)]
mod tests {
    use meshprobe_mesh::finding::{Label, Severity, rule_id};
    use meshprobe_yaml::Span;

    use super::*;

    #[test]
    fn findings_at_or_above_the_limit_fail_the_run() {
        let label = Label {
            path: "x".into(),
            span: Span::empty(0),
            message: String::new(),
        };
        let findings = [Finding::new(
            rule_id!("r"),
            Severity::Warning,
            label,
            String::new(),
        )];
        assert!(failing(&findings, FailOn::default()));
        assert!(failing(&findings, FailOn::Severity(Severity::Note)));
        assert!(!failing(&findings, FailOn::Severity(Severity::Error)));
        assert!(!failing(&findings, FailOn::Never));
        assert!(!failing(&[], FailOn::Severity(Severity::Note)));
        let mut panic = findings;
        panic[0].rule = INTERNAL_ERROR;
        assert!(failing(&panic, FailOn::Never));
    }

    #[test]
    fn the_highest_exit_code_is_used() {
        let exit = Exit::Success
            .or(true, Exit::Failure)
            .or(true, Exit::Findings);
        assert_eq!(exit.code(), 2);
        assert_eq!(Exit::Success.or(false, Exit::Failure).code(), 0);
    }
}
