//! Runs all rules on a set of files.

use std::collections::BTreeSet;
use std::sync::Arc;

use meshprobe_deploy::kustomize::{Note, Rendering};
use meshprobe_mesh::finding::{Finding, Severity};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::detect::FactKind;
use meshprobe_mesh::settings::Settings;
use meshprobe_predict::context::{Context, Dataplane, NotJudged};
use meshprobe_predict::predict;
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};
use meshprobe_rules::rules::notices::NOT_REWRITTEN;
use meshprobe_rules::{rewrite, rules};
use meshprobe_tree::source::SourceSet;

use super::ambiguous_config::ambiguous_configs;
use super::context_fixes::{complete_findings, complete_not_judged, limit_to_targets};
use super::fix_history::keep_suppressed_values;
use super::input_diagnostics::{broken_texts, input_diagnostics, surrounding_diagnostics};
use super::levels::{Ignores, Levels};
use super::not_judged::not_judged;
use super::outcome::{Leveled, Outcome, UnknownEnvironments, apply_levels, unknown_environments};
use super::place_fixes::place_fixes;
use super::predicted::{AnalysisRequest, Fixes, Predicted};
use super::rendered_templates::{explain_templates, merge_templates};
use super::summary::{ConfiguredPredictions, Summary};
use super::suppress::{AnnotatedPods, Suppressions, mark_configured};
use super::unsupported_parts::{
    explain_unrendered, policies_left_out, refused_builds, unsupported_parts,
};

#[cfg(debug_assertions)]
use super::planted_panic;

/// Returns findings about files that could not be read.
pub(crate) fn problems(set: &SourceSet) -> Vec<Finding> {
    #[cfg(debug_assertions)]
    planted_panic::trip("worker", "");
    input_diagnostics(set)
}

/// Completes the findings, applies the levels of the settings, and counts. `faults` are findings about panics, and
/// `problems` those about files that could not be read.
pub(crate) fn finish(
    request: &AnalysisRequest<'_>,
    checked: Checked,
    (faults, problems): (Vec<Finding>, Vec<Finding>),
) -> Outcome {
    let (set, settings) = (request.set, request.settings);
    let mut summary = Summary::of_files(set);
    let (levels, ignores) = (Levels::new(settings), Ignores::new(&settings.ignore));
    let Checked {
        mut findings,
        mut elsewhere,
        counted,
        mut not_judged,
        unknown_environments,
        suppressions,
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
    match request.fixes {
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
    Outcome {
        findings,
        suppressed,
        switched_off,
        not_judged,
        context_option: set.context_option.clone(),
        files_without_workloads: files_without_workloads(set, &summary),
        fact_without_workloads: fact_without_workloads(set, &summary),
        unknown_environments,
        summary,
    }
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

/// The result of the rules.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    findings: Vec<Finding>,
    /// Findings in files that are only read for facts. They are not reported.
    elsewhere: Vec<Finding>,
    counted: Summary,
    not_judged: Vec<NotJudged>,
    unknown_environments: Option<UnknownEnvironments>,
    suppressions: Suppressions,
}

/// Predicts all workloads of the files, and runs the rules.
pub(crate) fn judge<'t>(
    set: &'t SourceSet,
    renderings: &'t [Rendering],
    settings: &'t Settings,
) -> (Predicted<'t>, Checked) {
    let (context, suppressions) = rayon::join(
        || Context::new(set, renderings, settings),
        || Suppressions::read(set),
    );
    let predicted = Predicted::from_facts(renderings, context);
    let mut configured = None;
    let mut checked = rayon::in_place_scope(|scope| {
        scope.spawn(|_| configured = configured_predictions(set, settings, &predicted));
        run_rules(set, settings, &predicted, suppressions)
    });
    checked.counted.configured = configured;
    (predicted, checked)
}

/// Counts the predictions that the facts of a configuration of the tree decide.
fn configured_predictions(
    set: &SourceSet,
    settings: &Settings,
    predicted: &Predicted<'_>,
) -> Option<ConfiguredPredictions> {
    let (file, without) = settings.without_configured_facts()?;
    let other = Predicted::of(set, predicted.renderings, &without);
    Some(ConfiguredPredictions::count(
        file,
        &predicted.predictions,
        &other.predictions,
    ))
}

/// Runs the rules on the predictions.
fn run_rules(
    set: &SourceSet,
    settings: &Settings,
    predicted: &Predicted<'_>,
    suppressions: Suppressions,
) -> Checked {
    let context = &predicted.context;
    let predictions = predicted.predictions.as_slice();
    let mut counted = Summary::default();
    counted.count_predictions(predictions);
    let annotated = AnnotatedPods::of(predictions);
    let mark = |pods: &[WorkloadPrediction<'_>], finding: &mut Finding| {
        suppressions.mark(set, &annotated, pods, finding);
    };
    let (mut unread, mut unjudged) = (Vec::new(), Vec::new());
    // They read the same facts as the rules. Suppressions cannot be shared between threads.
    let found = rayon::in_place_scope(|scope| {
        scope.spawn(|_| unread = unread_parts(predicted));
        scope.spawn(|_| unjudged = not_judged(predicted));
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
    }
}

/// Returns findings about what the analysis could not read or decide.
fn unread_parts(predicted: &Predicted<'_>) -> Vec<Finding> {
    let (renderings, context) = (predicted.renderings, &predicted.context);
    let predictions = predicted.predictions.as_slice();
    let is_part = |note: &Note| note.absent.is_none() && !note.is_refused;
    unsupported_parts(renderings, predictions, is_part)
        .into_iter()
        .chain(refused_builds(context, renderings.iter()))
        .chain(broken_texts(context))
        .chain(ambiguous_configs(predictions))
        .chain(policies_left_out(context, predictions))
        .collect()
}

/// Reports every handler that a rewrite would still change, or that it might change if the mesh is not known. A handler
/// in a file that several overlays include is reported once.
pub(super) fn not_rewritten(predictions: &[WorkloadPrediction<'_>]) -> Vec<Finding> {
    let mut reported = BTreeSet::new();
    predictions
        .iter()
        .flat_map(|pod| {
            let outstanding = rewrite::unrewritten_handlers(pod).into_iter();
            outstanding.map(move |handler| finding(pod, handler))
        })
        .filter(|finding| {
            let label = &finding.primary;
            reported.insert((label.path.clone(), label.span, finding.message.clone()))
        })
        .collect()
}

fn finding(pod: &WorkloadPrediction<'_>, outstanding: &HandlerPrediction<'_>) -> Finding {
    let object = &pod.workload.object;
    let label = object.label_at(outstanding.handler.key.span(), "");
    let is_known = pod.dataplane.value != Dataplane::Unknown;
    let title = outstanding.title();
    let message = if is_known {
        format!("{title} is not rewritten ahead of deployment")
    } else {
        format!("{title} may need a rewrite: the files do not show whether the pod is in a mesh")
    };
    let mut finding = Finding::new(NOT_REWRITTEN, Severity::Error, label, message);
    finding.certainty = pod.dataplane.certainty;
    finding.document = object.document.index;
    finding.object = Some(object.reference());
    finding.container = Some(outstanding.container.name().to_owned());
    finding.field = Some(outstanding.handler.within.to_string());
    let help = if is_known {
        "run `meshprobe rewrite`; for a KRM function, build with `--enable-alpha-plugins \
         --enable-exec`, because kustomize silently skips the function without the second flag"
    } else {
        "add the Namespace manifests with `--context`, or set `--assume injection=all` (`none` \
         without a mesh)"
    };
    finding.help = Some(help.into());
    finding
}
