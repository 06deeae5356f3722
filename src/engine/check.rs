//! Runs all rules over a set of files.

use std::sync::Arc;

use hashbrown::HashSet;

use crate::context::Context;
use crate::context::render::{Rendering, render_relevant};
use crate::finding::{Applicability, Finding, Label, Severity};
use crate::predict::{self, WorkloadPrediction};
use crate::rules;
use crate::settings::{RuleLevel, Settings};
use crate::source::{Role, SourceSet};

use super::ambiguous_config::ambiguous_configs;
use super::guard::judge;
use super::left_out::left_out;
use super::levels::{Ignores, Levels};
use super::notices::NOT_MODELLED;
use super::place_fixes::place_fixes;
#[cfg(debug_assertions)]
use super::planted_panic;
use super::problems::{broken_texts, problems};
use super::required::not_rewritten;
use super::summary::Summary;
use super::suppress::{AnnotatedPods, Suppressions, mark_configured};
use super::touched::respect_silence;
use super::unrendered::{explain_standing, policies_left_out};

/// What a run has found.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Sorted by path, position, rule.
    pub findings: Vec<Finding>,
    /// Those that the user has silenced, in the same order.
    pub suppressed: Vec<Finding>,
    /// What was seen.
    pub summary: Summary,
}

impl Outcome {
    /// Lists all findings, silenced or not, in their order.
    #[must_use]
    pub fn all(&self) -> Vec<&Finding> {
        let mut all: Vec<&Finding> = self.findings.iter().chain(&self.suppressed).collect();
        all.sort_by(|a, b| order(a).cmp(&order(b)));
        all
    }
}

/// Judges all files.
#[must_use]
pub fn check(set: &SourceSet, settings: &Settings) -> Outcome {
    let mut summary = Summary::of_files(set);
    let (levels, ignores) = (Levels::new(settings), Ignores::new(&settings.ignore));
    let judged = || judge(set, |set| judge_files(set, settings));
    let problems = || {
        #[cfg(debug_assertions)]
        planted_panic::trip("worker", "");
        problems(set)
    };
    let (judged, problems) = rayon::join(judged, problems);
    let (mut findings, counted, suppressions) = judged.value;
    summary.workloads = counted.workloads;
    summary.not_judged = counted.not_judged;
    summary.unseen = counted.unseen;
    summary.gaps = counted.gaps;
    summary.handlers = counted.handlers;
    findings.extend(judged.faults);
    findings.extend(problems.into_iter().map(|mut finding| {
        suppressions.mark(set, &AnnotatedPods::default(), &[], &mut finding);
        finding
    }));
    for finding in &mut findings {
        mark_configured(set, &ignores, finding);
    }
    let about_suppressions = suppressions.findings(set, &levels, &ignores);
    findings.extend(about_suppressions.into_iter().map(|mut finding| {
        mark_configured(set, &ignores, &mut finding);
        finding
    }));
    let Settled {
        mut findings,
        ignored,
        severity_changed,
    } = settled_by(set, findings, &levels);
    summary.ignored = ignored;
    summary.severity_changed = severity_changed;
    let all = findings.len();
    let least = settings.min_severity.unwrap_or(Severity::Note);
    findings.retain(|finding| finding.suppressed.is_some() || finding.severity >= least);
    summary.hidden = all - findings.len();
    // Only fixes that a report may show are proven.
    place_fixes(set, &mut findings);
    let (suppressed, mut findings): (Vec<_>, Vec<_>) = findings
        .into_iter()
        .partition(|finding| finding.suppressed.is_some());
    respect_silence(&suppressed, &mut findings);
    summary.suppressed = suppressed.len();
    summary.count_findings(&findings);
    Outcome {
        findings,
        suppressed,
        summary,
    }
}

/// Predicts what becomes of the files and runs the rules: the findings, what was counted, and what
/// silences findings.
fn judge_files(set: &SourceSet, settings: &Settings) -> (Vec<Finding>, Summary, Suppressions) {
    let renderings = render_relevant(set);
    let (context, suppressions) = rayon::join(
        || Context::new(set, &renderings, settings),
        || Suppressions::read(set),
    );
    let predictions = predict::predict_all(&context);
    let mut counted = Summary::default();
    counted.count_predictions(&predictions);
    let annotated = AnnotatedPods::of(&predictions);
    let mark = |pods: &[WorkloadPrediction<'_>], finding: &mut Finding| {
        suppressions.mark(set, &annotated, pods, finding);
    };
    let mut findings = rules::check_marked(&context, &predictions, &mark);
    let unseen = not_followed(&renderings, &predictions)
        .into_iter()
        .chain(broken_texts(&context))
        .chain(ambiguous_configs(&predictions))
        .chain(policies_left_out(&context));
    findings.extend(unseen.map(|mut finding| {
        suppressions.mark(set, &annotated, &[], &mut finding);
        finding
    }));
    if settings.require_rewritten {
        let left = not_rewritten(&predictions).into_iter();
        findings.extend(left.map(|mut finding| {
            mark(&predictions, &mut finding);
            finding
        }));
    }
    counted.unseen = unseen_whole(set, &renderings, &predictions);
    counted.not_judged += counted.unseen;
    // Context is read for facts; what is wrong in it is for another run to say, unless an
    // overlay brings it in that is to be judged.
    findings.retain(|finding| {
        let mut overlays = finding.overlays.iter();
        is_target(set, &finding.primary.path)
            || overlays.any(|one| context.inventory.is_target_overlay(one))
    });
    for finding in &mut findings {
        explain_standing(&context, finding);
        keep_unedited(set, finding);
    }
    (findings, counted, suppressions)
}

/// Says what kustomizations ask for and nobody follows.
#[must_use]
pub fn not_followed<'r>(
    renderings: impl IntoIterator<Item = &'r Rendering>,
    predictions: &[WorkloadPrediction<'_>],
) -> Vec<Finding> {
    let told = predictions
        .iter()
        .filter(|one| one.is_target && !one.handlers.is_empty());
    let with_probes = roots(told);
    let each: Vec<&Rendering> = renderings.into_iter().collect();
    let left_out = left_out(each.iter().copied());
    each.into_iter()
        .filter_map(|one| not_modelled(one, with_probes.contains(&*one.root)))
        .chain(left_out)
        .collect()
}

/// What a kustomization asks for and nobody follows is said once per kustomization that brings in
/// probes, not passed over.
fn not_modelled(rendering: &Rendering, has_probes: bool) -> Option<Finding> {
    let (first, others) = rendering.notes.split_first()?;
    // Where objects are missing, these may be all that have probes.
    if !has_probes && !rendering.is_open {
        return None;
    }
    let label = Label {
        path: Arc::clone(&first.path),
        span: first.span,
        message: String::new(),
    };
    let more = match others.len() {
        0 => String::new(),
        count => format!(" (and {count} more like this in {})", rendering.root),
    };
    let message = format!("{}{more}", first.message);
    let mut finding = Finding::new(NOT_MODELLED, Severity::Note, label, message);
    finding.overlays.push(Arc::clone(rendering.home()));
    let build = rendering.build();
    finding.help = Some(format!("pipe the build in: `{build} | meshprobe check -`"));
    Some(finding)
}

/// The kustomizations that render workloads.
fn roots<'a, 't: 'a>(
    predictions: impl Iterator<Item = &'a WorkloadPrediction<'t>>,
) -> HashSet<&'t str> {
    let rendered = predictions.filter_map(|one| one.workload.object.rendered_by);
    rendered.map(|root| &**root).collect()
}

/// Counts the kustomizations to be judged whose workloads are all out of sight.
fn unseen_whole(
    set: &SourceSet,
    renderings: &[Rendering],
    predictions: &[WorkloadPrediction<'_>],
) -> usize {
    let seen = roots(predictions.iter());
    let is_unseen = |rendering: &&Rendering| {
        rendering.is_open
            && (is_target(set, &rendering.root) || is_target(set, rendering.home()))
            && !seen.contains(&*rendering.root)
    };
    renderings.iter().filter(is_unseen).count()
}

/// What is only context, or made for this run, is never edited: the finding says how to do it.
fn keep_unedited(set: &SourceSet, finding: &mut Finding) {
    let Some(fix) = finding.fix.as_mut() else {
        return;
    };
    let rendered = is_rendered(set, &fix.path);
    if is_target(set, &fix.path) && !rendered {
        return;
    }
    let may_be_named = fix.applicability != Applicability::DisplayOnly;
    fix.applicability = Applicability::DisplayOnly;
    if rendered {
        return;
    }
    let way = if may_be_named {
        "name it among the paths to have it fixed"
    } else {
        "edit it by hand"
    };
    let said = format!(
        "{} is read as context only and is not edited: {way}",
        fix.path
    );
    finding.help = Some(match finding.help.take() {
        Some(help) => format!("{help} ({said})"),
        None => said,
    });
}

/// Findings after the levels of the settings were applied, in their order.
#[derive(Default)]
struct Settled {
    findings: Vec<Finding>,
    /// How many findings the level `ignore` has removed.
    ignored: usize,
    /// How many findings have another severity.
    severity_changed: usize,
}

/// Applies the levels of the settings and brings findings in their order.
pub(super) fn settled(
    set: &SourceSet,
    findings: Vec<Finding>,
    settings: &Settings,
) -> Vec<Finding> {
    settled_by(set, findings, &Levels::new(settings)).findings
}

fn settled_by(set: &SourceSet, findings: Vec<Finding>, levels: &Levels<'_>) -> Settled {
    let mut settled = Settled::default();
    for mut finding in findings {
        let paths = paths_of(set, &finding);
        let level = |path: &Arc<str>| levels.level(finding.rule, path);
        if !paths.iter().all(|path| levels.is_on(finding.rule, path)) {
            let is_ignored = paths
                .iter()
                .any(|path| level(path) == Some(RuleLevel::Ignore));
            settled.ignored += usize::from(is_ignored);
            continue;
        }
        if let Some(RuleLevel::Severity(severity)) = paths.iter().find_map(level) {
            settled.severity_changed += usize::from(severity != finding.severity);
            finding.severity = severity;
        }
        settled.findings.push(finding);
    }
    settled.findings.sort_by(|a, b| order(a).cmp(&order(b)));
    settled
}

/// The paths that settings may mean a finding by: of what was rendered, the file that it was made
/// from, too.
pub(super) fn paths_of(set: &SourceSet, finding: &Finding) -> Vec<Arc<str>> {
    let label = &finding.primary;
    let source = set.source_of(&label.path, label.span);
    let source = source.map(|source| source.path);
    source
        .into_iter()
        .chain([Arc::clone(&label.path)])
        .collect()
}

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

fn is_target(set: &SourceSet, path: &str) -> bool {
    set.file(path).is_none_or(|file| file.role == Role::Target)
}

fn is_rendered(set: &SourceSet, path: &str) -> bool {
    set.file(path).is_some_and(|file| file.rendered)
}
