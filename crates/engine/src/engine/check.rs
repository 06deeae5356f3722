//! Runs all rules on a set of files.

use std::sync::Arc;

use meshprobe_deploy::kustomize::Note;
use meshprobe_mesh::finding::{Finding, Severity};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::detect::FactKind;
use meshprobe_mesh::settings::Settings;
use meshprobe_predict::context::{Context, NotJudged};
use meshprobe_predict::predict;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_rules::rules;
use meshprobe_tree::source::SourceSet;

use super::ambiguous_config::ambiguous_configs;
use super::analysis::{Analysis, analyse_while};
use super::context_fixes::{complete_findings, complete_not_judged, limit_to_targets};
use super::fix_history::keep_suppressed_values;
use super::input_diagnostics::{broken_texts, input_diagnostics, surrounding_diagnostics};
use super::levels::{Ignores, Levels};
use super::not_judged::not_judged;
use super::outcome::{Leveled, Outcome, UnknownEnvironments, apply_levels, unknown_environments};
use super::panic_isolation::isolate_panics;
use super::place_fixes::place_fixes;
use super::rendered_overlays::RenderedOverlays;
use super::rendered_templates::{explain_templates, merge_templates};
use super::required::not_rewritten;
use super::summary::{ConfiguredPredictions, Summary};
use super::suppress::{AnnotatedPods, Suppressions, mark_configured};
use super::unsupported_parts::{
    explain_unrendered, policies_left_out, refused_builds, unsupported_parts,
};

#[cfg(debug_assertions)]
use super::planted_panic;

/// Checks all files.
#[must_use]
pub fn check(set: &SourceSet, settings: &Settings) -> Outcome {
    let rendered = RenderedOverlays::default();
    check_with_view(set, &rendered, settings, Fixes::Verified, |_, _| ()).0
}

/// What happens to the fixes of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fixes {
    /// They are verified, and placed in the files.
    Verified,
    /// They are removed, because the caller does not show them.
    Removed,
}

/// Checks all files, and returns the result of `view` on the facts and the predictions of all workloads, sorted by place;
/// `None` if meshprobe panicked on every file. `rendered` is empty, or belongs to the same files.
#[must_use]
pub fn check_with_view<T>(
    set: &SourceSet,
    rendered: &RenderedOverlays<'_>,
    settings: &Settings,
    fixes: Fixes,
    view: impl Fn(&Context<'_>, &[WorkloadPrediction<'_>]) -> T + Sync,
) -> (Outcome, Option<T>)
where
    T: Send,
{
    let checked = || {
        isolate_panics(set, |part| {
            if std::ptr::eq(part, set) {
                return check_files(set, rendered, settings, &view);
            }
            // The files without those on which meshprobe panics.
            check_files(part, &RenderedOverlays::default(), settings, &view)
        })
    };
    let (checked, problems) = rayon::join(checked, || problems(set));
    finish(
        set,
        settings,
        fixes,
        checked.value,
        (checked.faults, problems),
    )
}

/// Returns findings about files that could not be read.
pub(super) fn problems(set: &SourceSet) -> Vec<Finding> {
    #[cfg(debug_assertions)]
    planted_panic::trip("worker", "");
    input_diagnostics(set)
}

/// Completes the findings, applies the levels of the settings, and counts. `faults` are findings about panics, and
/// `problems` those about files that could not be read.
pub(super) fn finish<T>(
    set: &SourceSet,
    settings: &Settings,
    fixes: Fixes,
    checked: Checked<T>,
    (faults, problems): (Vec<Finding>, Vec<Finding>),
) -> (Outcome, Option<T>) {
    let mut summary = Summary::of_files(set);
    let (levels, ignores) = (Levels::new(settings), Ignores::new(&settings.ignore));
    let Checked {
        mut findings,
        mut elsewhere,
        counted,
        mut not_judged,
        unknown_environments,
        suppressions,
        view,
    } = checked;
    summary.workloads = counted.workloads;
    summary.not_judged = not_judged.len();
    summary.missing_facts = counted.missing_facts;
    summary.unproven_release = counted.unproven_release;
    summary.handlers = counted.handlers;
    summary.configured = counted.configured;
    findings.extend(faults);
    findings.extend(problems.into_iter().map(|mut finding| {
        suppressions.mark(set, &AnnotatedPods::default(), &[], &mut finding);
        finding
    }));
    // An entry of `ignore` is used if it suppresses a finding anywhere in the tree.
    for finding in findings.iter_mut().chain(&mut elsewhere) {
        mark_configured(set, &ignores, finding);
    }
    let about_suppressions = suppressions.findings(set, &levels, &ignores);
    findings.extend(about_suppressions.into_iter().map(|mut finding| {
        mark_configured(set, &ignores, &mut finding);
        finding
    }));
    let Leveled {
        mut findings,
        switched_off,
        ignored,
        severity_changed,
    } = apply_levels(set, findings, &levels);
    summary.ignored = ignored;
    summary.severity_changed = severity_changed;
    let all = findings.len();
    let least = settings.min_severity.unwrap_or(Severity::Note);
    findings.retain(|finding| finding.suppressed.is_some() || finding.severity >= least);
    summary.hidden = all - findings.len();
    // Only the fixes of findings that a report may show are verified.
    match fixes {
        Fixes::Verified => place_fixes(set, &mut findings),
        Fixes::Removed => findings.iter_mut().for_each(|finding| finding.fix = None),
    }
    complete_findings(set, &mut findings);
    complete_not_judged(set, &mut not_judged);
    let (mut suppressed, mut findings): (Vec<_>, Vec<_>) = findings
        .into_iter()
        .partition(|finding| finding.suppressed.is_some());
    merge_templates(set, &mut findings);
    keep_suppressed_values(&suppressed, &mut findings);
    limit_to_targets(set, &mut findings);
    limit_to_targets(set, &mut suppressed);
    summary.suppressed = suppressed.len();
    summary.count_findings(&findings);
    let outcome = Outcome {
        findings,
        suppressed,
        switched_off,
        not_judged,
        context_option: set.context_option.clone(),
        files_without_workloads: files_without_workloads(set, &summary),
        fact_without_workloads: fact_without_workloads(set, &summary),
        unknown_environments,
        summary,
    };
    (outcome, view)
}

/// Returns the files that were read if they contain nothing to judge.
fn files_without_workloads(set: &SourceSet, summary: &Summary) -> Vec<Arc<str>> {
    if !summary.judges_nothing() {
        return Vec::new();
    }
    set.targets().map(|file| Arc::clone(&file.path)).collect()
}

/// Returns the first object of the files that states a fact about workloads, if the files contain nothing to judge.
fn fact_without_workloads(set: &SourceSet, summary: &Summary) -> Option<String> {
    if !summary.judges_nothing() {
        return None;
    }
    let documents = set.targets().flat_map(|file| &file.documents);
    let states_fact = |object: &Object<'_>| {
        let kind = FactKind::of(object.group(), object.kind);
        kind.is_some_and(|kind| !matches!(kind, FactKind::Workload | FactKind::Maker))
    };
    let fact = documents.flat_map(Object::all_in).find(states_fact)?;
    Some(format!("{}/{}", fact.kind, fact.name()))
}

/// The result of the predictions and the rules.
#[derive(Debug)]
pub(super) struct Checked<T> {
    findings: Vec<Finding>,
    /// Findings in files that are only read for facts. They are not reported.
    elsewhere: Vec<Finding>,
    counted: Summary,
    not_judged: Vec<NotJudged>,
    unknown_environments: Option<UnknownEnvironments>,
    suppressions: Suppressions,
    pub(super) view: Option<T>,
}

impl<T> Default for Checked<T> {
    fn default() -> Self {
        Self {
            findings: Vec::new(),
            elsewhere: Vec::new(),
            counted: Summary::default(),
            not_judged: Vec::new(),
            unknown_environments: None,
            suppressions: Suppressions::default(),
            view: None,
        }
    }
}

/// Runs the predictions and the rules.
fn check_files<T>(
    set: &SourceSet,
    rendered: &RenderedOverlays<'_>,
    settings: &Settings,
    view: &impl Fn(&Context<'_>, &[WorkloadPrediction<'_>]) -> T,
) -> Checked<T> {
    let read = || Suppressions::read(set);
    let renderings = rendered.of(set);
    analyse_while(
        set,
        renderings,
        settings,
        read,
        |mut analysis, suppressions| {
            let mut configured = None;
            let mut checked = rayon::in_place_scope(|scope| {
                scope.spawn(|_| configured = configured_predictions(set, settings, &analysis));
                check_analysed(set, settings, &analysis, suppressions)
            });
            checked.counted.configured = configured;
            predict::sort_by_place(&mut analysis.predictions);
            checked.view = Some(view(analysis.context, &analysis.predictions));
            checked
        },
    )
}

/// Counts the predictions that the facts of a configuration of the tree decide.
fn configured_predictions(
    set: &SourceSet,
    settings: &Settings,
    analysis: &Analysis<'_, '_>,
) -> Option<ConfiguredPredictions> {
    let (file, without) = settings.without_configured_facts()?;
    let context = Context::new(set, analysis.renderings, &without);
    let predictions = predict::predict_all(&context);
    Some(ConfiguredPredictions::count(
        file,
        &analysis.predictions,
        &predictions,
    ))
}

/// Runs the rules on the predictions.
pub(super) fn check_analysed<T>(
    set: &SourceSet,
    settings: &Settings,
    analysis: &Analysis<'_, '_>,
    suppressions: Suppressions,
) -> Checked<T> {
    let context = analysis.context;
    let predictions = analysis.predictions.as_slice();
    let mut counted = Summary::default();
    counted.count_predictions(predictions);
    let annotated = AnnotatedPods::of(predictions);
    let mark = |pods: &[WorkloadPrediction<'_>], finding: &mut Finding| {
        suppressions.mark(set, &annotated, pods, finding);
    };
    let (mut unread, mut unjudged) = (Vec::new(), Vec::new());
    // They read the same facts as the rules. Suppressions cannot be shared between threads.
    let found = rayon::in_place_scope(|scope| {
        scope.spawn(|_| unread = unread_parts(analysis));
        scope.spawn(|_| unjudged = not_judged(analysis));
        rules::check_marked(context, predictions, &mark)
    });
    let rules::Found {
        reported: mut findings,
        mut elsewhere,
    } = found;
    findings.extend(unread.into_iter().map(|mut finding| {
        suppressions.mark(set, &annotated, &[], &mut finding);
        finding
    }));
    if settings.require_rewritten {
        let outstanding = not_rewritten(predictions).into_iter();
        findings.extend(outstanding.map(|mut finding| {
            mark(predictions, &mut finding);
            finding
        }));
    }
    let groups = context.inventory.workload_groups.iter();
    let groups = groups.filter(|group| context.origin_of(group).is_target());
    counted.workloads += groups.count();
    counted.handlers += predict::machines(context).len();
    // What a given file deploys and cannot be read has no objects, so it is a finding of this run.
    let (broken, surroundings): (Vec<_>, Vec<_>) = surrounding_diagnostics(set)
        .into_iter()
        .partition(|finding| context.reports(finding));
    findings.extend(broken.into_iter().map(|mut finding| {
        suppressions.mark(set, &annotated, &[], &mut finding);
        finding
    }));
    elsewhere.extend(surroundings);
    elsewhere.extend(findings.extract_if(.., |finding| !context.reports(finding)));
    explain_templates(context, &mut findings);
    for finding in &mut findings {
        explain_unrendered(context, finding);
    }
    let unknown_environments = unknown_environments(context, predictions)
        .filter(|unknown| !unknown.without_workloads || findings.is_empty());
    Checked {
        findings,
        elsewhere,
        counted,
        not_judged: unjudged,
        unknown_environments,
        suppressions,
        view: None,
    }
}

/// Returns findings about what the analysis could not read or decide.
fn unread_parts(analysis: &Analysis<'_, '_>) -> Vec<Finding> {
    let (renderings, context) = (analysis.renderings, analysis.context);
    let predictions = analysis.predictions.as_slice();
    let is_part = |note: &Note| note.absent.is_none() && !note.is_refused;
    unsupported_parts(renderings, predictions, is_part)
        .into_iter()
        .chain(refused_builds(context, renderings.iter()))
        .chain(broken_texts(context))
        .chain(ambiguous_configs(predictions))
        .chain(policies_left_out(context, predictions))
        .collect()
}
