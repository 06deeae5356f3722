//! Applies planned rewrites to the text of files, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::HashSet;
use meshprobe_deploy::gitops::{render_of, render_relevant};
use meshprobe_deploy::kustomize::{DocumentId, Rendering};
use meshprobe_mesh::finding::{Finding, Label, Severity};
use meshprobe_mesh::kube::ObjectId;
use meshprobe_mesh::settings::Settings;
use meshprobe_predict::context::{Context, NotJudged};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_rules::rewrite;
use meshprobe_rules::rewrite::{Decision, Direction, Edited, Plan, PodRewrite, RewriteInput};
use meshprobe_rules::rules::notices::{AMBIGUOUS_YAML, EDIT_REFUSED};
use meshprobe_tree::source::{Role, SourceSet};
use meshprobe_yaml as yaml;
use meshprobe_yaml::{Change, Edit, EditError, Span};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::context_fixes::{complete_findings, complete_not_judged};
use super::fix_round::replace;
use super::input_diagnostics::input_diagnostics;
use super::not_judged::not_judged;
use super::outcome::with_levels;
use super::panic_isolation::isolate_panics;
use super::predicted::Predicted;
use super::rendered_templates::unrendered_templates;
use super::rewrite_counts::{WorkloadResult, ensure_undo, merged_notes, merged_refusals};
use super::unsupported_parts::unsupported_parts;
use super::write::Changed;

/// The result of a rewrite in memory.
#[derive(Debug, Default)]
pub struct Rewritten {
    /// All files, with their new text.
    pub set: SourceSet,
    /// The files whose text changes.
    pub changed: Vec<Changed>,
    /// The refused pods with reasons, notes, and unreadable files.
    pub findings: Vec<Finding>,
    /// The applied changes of all documents.
    pub changes: Vec<Change>,
    /// What is done with each workload, and its file.
    pub workloads: Vec<(Arc<str>, WorkloadResult)>,
    /// What runs pods and is not judged, so that its probes are not rewritten.
    pub not_judged: Vec<NotJudged>,
}

/// A function that plans changes from facts and predictions.
type Planner = for<'a, 't> fn(&RewriteInput<'a, 't>) -> Plan;

/// Plans the rewrite of all targets, and applies it in memory.
#[must_use]
pub fn rewrite(original: &SourceSet, settings: &Settings) -> Rewritten {
    changed_by(original, settings, rewrite::plan)
}

/// Plans to undo the rewrite of all pre-rewritten targets, and applies the plan in memory.
#[must_use]
pub fn undo(original: &SourceSet, settings: &Settings) -> Rewritten {
    changed_by(original, settings, rewrite::undo)
}

/// Returns the configuration that proxies of other meshes receive for the probes of their pods.
#[must_use]
pub fn proxies(set: &SourceSet, settings: &Settings) -> rewrite::ProxyConfigurations {
    let isolated = isolate_panics(set, |set| {
        let renderings = render_relevant(set);
        let predicted = Predicted::of(set, &renderings, settings);
        rewrite::proxies(&predicted.context, &predicted.predictions)
    });
    let mut proxies = isolated.value;
    proxies.findings.extend(isolated.faults);
    proxies
}

fn changed_by(original: &SourceSet, settings: &Settings, planner: Planner) -> Rewritten {
    let isolated = isolate_panics(original, |set| {
        let renderings = render_relevant(set);
        let overlaid = Predicted::of(set, &renderings, settings);
        let plain = Predicted::from_facts(&[], Context::as_written(set, settings));
        let edits = planned_edits(set, settings, planner, &overlaid, plain);
        (edits, not_judged(&overlaid))
    });
    let ((edits, decisions, mut findings), mut not_judged) = isolated.value;
    findings.extend(isolated.faults);
    let refused: HashSet<_> = findings
        .iter()
        .filter(|finding| finding.rule == AMBIGUOUS_YAML)
        .map(|finding| (Arc::clone(&finding.primary.path), finding.primary.span))
        .collect();
    let is_known = |finding: &Finding| {
        let place = &finding.primary;
        finding.rule == AMBIGUOUS_YAML && refused.contains(&(Arc::clone(&place.path), place.span))
    };
    let problems = input_diagnostics(original).into_iter();
    findings.extend(problems.filter(|finding| !is_known(finding)));
    let set = edits.applied(original);
    findings.extend(edits.refused.iter().cloned());
    complete_findings(original, &mut findings);
    complete_not_judged(original, &mut not_judged);
    Rewritten {
        changed: Changed::between(original, &set),
        findings: merged_notes(merged_refusals(with_levels(original, findings, settings))),
        workloads: edits.results(&decisions),
        set,
        changes: edits.changes,
        not_judged,
    }
}

/// What a plan does with each workload.
type Decisions = BTreeMap<ObjectId, Decision>;

/// Plans the changes; returns their edits, the decisions and the findings of the plan.
fn planned_edits<'t>(
    set: &SourceSet,
    settings: &Settings,
    planner: Planner,
    overlaid: &Predicted<'t>,
    mut plain: Predicted<'t>,
) -> (Edits, Decisions, Vec<Finding>) {
    // Without rendered kustomizations, a patch is only a part of the object that it changes.
    let is_whole = |pod: &WorkloadPrediction<'_>| !pod.workload.object.document.patch;
    plain.predictions.retain(is_whole);
    let unknown_kinds = rewrite::remove_unknown_kinds(&mut plain.predictions);
    let seen = RewriteInput {
        context: &plain.context,
        plain: &plain.predictions,
        overlaid: &overlaid.context,
        rendered: &overlaid.predictions,
        renderings: overlaid.renderings,
    };
    let mut plan = planner(&seen);
    for (workload, warning) in unknown_kinds {
        match warning {
            Some(warning) => plan.refuse(workload, warning),
            None => {
                plan.decisions.insert(workload, Decision::Nothing);
            }
        }
    }
    let mut edits = edits(set, &plan, settings);
    let used = edits.documents_of(overlaid.renderings);
    if !used.is_empty() {
        let sources = &edits.applied(set);
        let renderings = &render_of(sources, &used);
        let edited = Edited {
            sources,
            renderings,
        };
        if plan.remove_overridden(&seen, edited) {
            edits = self::edits(set, &plan, settings);
        }
    }
    let including = overlaid
        .renderings
        .iter()
        .filter(|rendering| !rendering.used.is_disjoint(&used));
    plan.findings
        .extend(unsupported_parts(including, &overlaid.predictions, |_| {
            true
        }));
    let notes = plan.pods.into_iter().flat_map(|pod| pod.notes);
    plan.findings.extend(notes);
    plan.findings
        .extend(unrendered_templates(&overlaid.context));
    (edits, plan.decisions, plan.findings)
}

/// The edits of a plan.
#[derive(Default)]
struct Edits {
    by_file: BTreeMap<Arc<str>, Vec<Edit>>,
    documents: BTreeSet<DocumentId>,
    /// The applied changes.
    changes: Vec<Change>,
    /// The documents that cannot be edited.
    refused: Vec<Finding>,
}

impl Edits {
    /// Returns the changed documents that a rendering includes.
    fn documents_of(&self, renderings: &[Rendering]) -> BTreeSet<DocumentId> {
        let is_used = |id: &&DocumentId| {
            renderings
                .iter()
                .any(|rendering| rendering.used.contains(*id))
        };
        self.documents.iter().filter(is_used).cloned().collect()
    }

    /// Returns what is done with each workload. A workload in a document that another file includes is omitted, because
    /// it is counted in the other file.
    fn results(&self, decisions: &Decisions) -> Vec<(Arc<str>, WorkloadResult)> {
        let refused: HashSet<(&str, usize)> = self
            .refused
            .iter()
            .map(|finding| (&*finding.primary.path, finding.document))
            .collect();
        let is_refused = |id: &ObjectId| refused.contains(&(&*id.path, id.document));
        let result = |id: &ObjectId, decision: Decision| {
            let is_edited = self
                .documents
                .contains(&(Arc::clone(&id.path), id.document));
            match decision {
                Decision::Refuse => Some(WorkloadResult::Refused),
                Decision::OptOut => Some(WorkloadResult::OptedOut),
                Decision::Nothing => Some(WorkloadResult::Unneeded),
                Decision::Change if is_edited => Some(WorkloadResult::Changed),
                Decision::Preview if is_edited => Some(WorkloadResult::Previewed),
                Decision::Change | Decision::Preview => {
                    is_refused(id).then_some(WorkloadResult::Refused)
                }
            }
        };
        decisions
            .iter()
            .filter_map(|(id, decision)| Some((Arc::clone(&id.path), result(id, *decision)?)))
            .collect()
    }

    fn applied(&self, set: &SourceSet) -> SourceSet {
        let mut set = set.clone();
        for (path, edits) in &self.by_file {
            replace(&mut set, path, edits.clone());
        }
        set
    }
}

fn edits(set: &SourceSet, plan: &Plan, settings: &Settings) -> Edits {
    let mut by_document: BTreeMap<DocumentId, Vec<&PodRewrite>> = BTreeMap::new();
    for pod in &plan.pods {
        let id = (Arc::clone(&pod.path), pod.document);
        by_document.entry(id).or_default().push(pod);
    }
    // Verifying edits takes more time than all other steps, and the documents are independent.
    let made: Vec<_> = by_document
        .into_par_iter()
        .map(|(id, pods)| {
            let changes: Vec<Change> = pods
                .iter()
                .flat_map(|pod| pod.changes.iter().cloned())
                .collect();
            let mut edits = edits_of(set, &id, &changes);
            if plan.direction == Direction::Rewrite {
                edits = edits.map(|edits| undoable(set, &id, edits?, settings));
            }
            (id, changes, edits)
        })
        .collect();
    let mut all = Edits::default();
    for (id, changes, edits) in made {
        match edits {
            Some(Ok(new)) => {
                let (path, _) = &id;
                let edits = all.by_file.entry(Arc::clone(path)).or_default();
                edits.extend(new);
                all.changes.extend(changes);
                all.documents.insert(id);
            }
            Some(Err(error)) => all.refused.push(refused(id, &error)),
            None => {}
        }
    }
    all
}

/// Returns the edits of a document; `None` if it must not be edited, or if there are no changes.
fn edits_of(
    set: &SourceSet,
    (path, index): &DocumentId,
    changes: &[Change],
) -> Option<Result<Vec<Edit>, EditError>> {
    let file = set.file(path)?;
    let document = file.documents.get(*index)?;
    let is_editable =
        file.role == Role::Target && !file.is_linked() && !document.patch && !document.encrypted;
    if !is_editable || changes.is_empty() {
        return None;
    }
    Some(yaml::apply(document.tree()?, changes))
}

/// Returns the edits of a rewrite if `--undo` can undo them.
///
/// # Errors
/// `--undo` could not restore the document.
fn undoable(
    set: &SourceSet,
    (path, index): &DocumentId,
    edits: Vec<Edit>,
    settings: &Settings,
) -> Result<Vec<Edit>, EditError> {
    let file = set.file(path);
    if let Some((file, document)) = file.and_then(|file| Some((file, file.documents.get(*index)?)))
        && !edits.is_empty()
    {
        ensure_undo(file, document.segment, &edits, |edited| {
            !undo(edited, settings).changed.is_empty()
        })?;
    }
    Ok(edits)
}

fn refused((path, document): DocumentId, error: &EditError) -> Finding {
    let label = Label {
        path,
        span: Span::empty(error.offset),
        message: String::new(),
    };
    let message = format!("the document was not changed: {}", error.reason);
    let mut finding = Finding::new(EDIT_REFUSED, Severity::Error, label, message);
    finding.document = document;
    finding
}
