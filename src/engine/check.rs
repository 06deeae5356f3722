//! Runs all rules over a set of files.

use std::sync::Arc;

use crate::context::Context;
use crate::context::render::{Rendering, render_relevant};
use crate::finding::{Applicability, FileEdit, Finding, Fix, Label, Severity};
use crate::predict::{self, WorkloadPrediction};
use crate::rules;
use crate::settings::{RuleLevel, Settings};
use crate::source::{Role, SourceSet};
use crate::yaml;

use super::guard::judge;
use super::notices::NOT_MODELLED;
use super::problems::problems;
use super::summary::Summary;

/// What a run has found.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Sorted by path, position, rule.
    pub findings: Vec<Finding>,
    /// What was seen.
    pub summary: Summary,
}

/// Judges all files.
#[must_use]
pub fn check(set: &SourceSet, settings: &Settings) -> Outcome {
    let mut summary = Summary::of_files(set);
    let judged = judge(set, |set| {
        let renderings = render_relevant(set);
        let context = Context::new(set, &renderings, settings);
        let predictions = predict::predict_all(&context);
        let mut counted = Summary::default();
        counted.count_predictions(&predictions);
        let mut findings = rules::check(&context, &predictions);
        let unseen = renderings
            .iter()
            .filter_map(|one| not_modelled(one, &predictions));
        findings.extend(unseen);
        (findings, counted)
    });
    let (mut findings, counted) = judged.value;
    summary.workloads = counted.workloads;
    summary.not_judged = counted.not_judged;
    summary.handlers = counted.handlers;
    findings.retain(|finding| is_target(set, finding));
    findings.extend(judged.faults);
    findings.extend(problems(set));
    let mut findings = settled(findings, settings);
    for finding in &mut findings {
        if let Some(fix) = &mut finding.fix {
            place(set, fix);
        }
    }
    summary.count_findings(&findings);
    Outcome { findings, summary }
}

/// What a kustomization asks for and nobody follows is said once per kustomization that brings in
/// probes, not passed over.
fn not_modelled(rendering: &Rendering, predictions: &[WorkloadPrediction<'_>]) -> Option<Finding> {
    let (first, others) = rendering.notes.split_first()?;
    let has_probes = predictions.iter().any(|one| {
        one.is_target
            && one.workload.object.rendered_by == Some(&rendering.root)
            && !one.handlers.is_empty()
    });
    // Where nothing came in at all, what is missing may be all there is.
    if !has_probes && !rendering.documents.is_empty() {
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
    finding.help = Some("pipe the build in: `kustomize build DIR | meshprobe check -`".to_owned());
    Some(finding)
}

/// Applies the levels of the settings and brings findings in their order.
pub(super) fn settled(findings: Vec<Finding>, settings: &Settings) -> Vec<Finding> {
    let mut kept: Vec<Finding> = findings
        .into_iter()
        .filter_map(|mut finding| {
            match settings.rules.get(finding.rule) {
                Some(RuleLevel::Ignore) => return None,
                Some(RuleLevel::Severity(severity)) => finding.severity = *severity,
                None => {}
            }
            Some(finding)
        })
        .collect();
    kept.sort_by(|a, b| order(a).cmp(&order(b)));
    kept
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

/// Context is read for facts; what is wrong in it is for another run to say.
fn is_target(set: &SourceSet, finding: &Finding) -> bool {
    set.file(&finding.primary.path)
        .is_none_or(|file| file.role == Role::Target)
}

/// Turns the changes of a fix into bytes. One that cannot be written is only shown.
fn place(set: &SourceSet, fix: &mut Fix) {
    let tree = set
        .document(&fix.path, fix.document)
        .and_then(|document| document.tree());
    match tree.map(|tree| yaml::apply(tree, &fix.changes)) {
        Some(Ok(edits)) => {
            fix.edits = edits
                .into_iter()
                .map(|edit| FileEdit {
                    path: fix.path.clone(),
                    span: edit.span,
                    text: edit.text,
                })
                .collect();
        }
        _ => fix.applicability = Applicability::DisplayOnly,
    }
}
