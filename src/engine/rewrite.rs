//! Turns the planned rewrite into new texts.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::context::Context;
use crate::context::render::render_relevant;
use crate::finding::{Finding, Label, Severity};
use crate::predict::{self, WorkloadPrediction};
use crate::rewrite::{self, DocumentRewrite};
use crate::rules;
use crate::settings::Settings;
use crate::source::{Role, SourceSet};
use crate::yaml::{self, Change, Edit, EditError, Span};

use super::changed::Changed;
use super::check::settled;
use super::fix::replace;
use super::guard::judge;
use super::notices::EDIT_REFUSED;
use super::problems::problems;

/// The result of a rewrite; nothing is written yet.
#[derive(Debug, Default)]
pub struct Rewritten {
    /// All files, with their new text.
    pub set: SourceSet,
    /// The files whose text changes.
    pub changed: Vec<Changed>,
    /// What was refused and why, notes, and what could not be read.
    pub findings: Vec<Finding>,
    /// The changes that were made, of all documents.
    pub changes: Vec<Change>,
    /// How many pod templates change.
    pub pods: usize,
}

/// From facts and predictions, plain and rendered, to changes.
type Planner =
    for<'t> fn(&Context<'t>, &[WorkloadPrediction<'t>], &[WorkloadPrediction<'t>]) -> rewrite::Plan;

/// Plans the rewrite of all targets and applies it in memory.
#[must_use]
pub fn rewrite(original: &SourceSet, settings: &Settings) -> Rewritten {
    changed_by(original, settings, rewrite::plan)
}

/// Plans the way back of all targets that were rewritten ahead, and applies it in memory.
#[must_use]
pub fn undo(original: &SourceSet, settings: &Settings) -> Rewritten {
    changed_by(original, settings, rewrite::undo)
}

/// Returns what the proxies of other meshes are told of the probes of their pods.
#[must_use]
pub fn proxies(set: &SourceSet, settings: &Settings) -> Vec<rewrite::Proxy> {
    judge(set, |set| {
        let renderings = render_relevant(set);
        let context = Context::new(set, &renderings, settings);
        rewrite::proxies(&context, &predict::predict_all(&context))
    })
    .value
}

fn changed_by(original: &SourceSet, settings: &Settings, planner: Planner) -> Rewritten {
    let judged = judge(original, |set| {
        let plan = {
            let renderings = render_relevant(set);
            let overlaid = Context::new(set, &renderings, settings);
            let context = Context::new(set, &[], settings);
            let rendered = predict::predict_all(&overlaid);
            planner(&context, &predict::predict_all(&context), &rendered)
        };
        (plan.documents, plan.findings)
    });
    let (documents, mut findings) = judged.value;
    findings.extend(judged.faults);
    findings.extend(problems(original));
    findings.extend(rules::unrendered(&original.files));
    let mut edits: BTreeMap<Arc<str>, Vec<Edit>> = BTreeMap::new();
    let mut pods = 0;
    let mut changes = Vec::new();
    for planned in &documents {
        match edits_of(original, planned) {
            Some(Ok(new)) => {
                pods += planned.pods;
                changes.extend_from_slice(&planned.changes);
                edits
                    .entry(Arc::clone(&planned.path))
                    .or_default()
                    .extend(new);
            }
            Some(Err(error)) => findings.push(refused(planned, &error)),
            None => {}
        }
    }
    let mut set = original.clone();
    for (path, edits) in edits {
        replace(&mut set, &path, edits);
    }
    Rewritten {
        changed: Changed::between(original, &set),
        findings: settled(original, findings, settings),
        set,
        changes,
        pods,
    }
}

/// `None` where there is nothing that may be edited.
fn edits_of(set: &SourceSet, planned: &DocumentRewrite) -> Option<Result<Vec<Edit>, EditError>> {
    let file = set.file(&planned.path)?;
    let document = file.documents.get(planned.document)?;
    let editable = file.role == Role::Target && !document.patch && !document.encrypted;
    if !editable || planned.changes.is_empty() {
        return None;
    }
    Some(yaml::apply(document.tree()?, &planned.changes))
}

fn refused(planned: &DocumentRewrite, error: &EditError) -> Finding {
    let label = Label {
        path: Arc::clone(&planned.path),
        span: Span::empty(error.offset),
        message: String::new(),
    };
    let message = format!("the document was left as it is: {}", error.reason);
    let mut finding = Finding::new(EDIT_REFUSED, Severity::Error, label, message);
    finding.document = planned.document;
    finding
}
