//! Turns the planned rewrite into new texts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::HashSet;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::context::Context;
use crate::context::render::{DocumentId, Rendering, render_of, render_relevant};
use crate::finding::{Finding, Label, Severity};
use crate::predict;
use crate::rewrite::{self, Direction, Edited, Plan, PodRewrite, Seen};
use crate::rules;
use crate::settings::Settings;
use crate::source::{Role, SourceSet};
use crate::yaml::{self, Change, Edit, EditError, Span};

use super::changed::Changed;
use super::check::{not_followed, settled};
use super::fix::replace;
use super::guard::judge;
use super::notices::{AMBIGUOUS_YAML, EDIT_REFUSED};
use super::problems::problems;
use super::reversible::ensure_undo;

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

/// From facts and predictions to changes.
type Planner = for<'a, 't> fn(&Seen<'a, 't>) -> Plan;

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
pub fn proxies(set: &SourceSet, settings: &Settings) -> rewrite::Told {
    let judged = judge(set, |set| {
        let renderings = render_relevant(set);
        let context = Context::new(set, &renderings, settings);
        rewrite::proxies(&context, &predict::predict_all(&context))
    });
    let mut told = judged.value;
    told.findings.extend(judged.faults);
    told
}

fn changed_by(original: &SourceSet, settings: &Settings, planner: Planner) -> Rewritten {
    let judged = judge(original, |set| {
        let renderings = render_relevant(set);
        let overlaid = Context::new(set, &renderings, settings);
        let context = Context::new(set, &[], settings);
        let rendered = predict::predict_all(&overlaid);
        // Where no kustomization is rendered, a patch is only a part of what it changes.
        let mut plain = predict::predict_all(&context);
        plain.retain(|one| !one.workload.object.document.patch);
        let seen = Seen {
            context: &context,
            plain: &plain,
            overlaid: &overlaid,
            rendered: &rendered,
            renderings: &renderings,
        };
        let mut plan = planner(&seen);
        let mut edits = edits(set, &plan, settings);
        let used = edits.documents_of(&renderings);
        if !used.is_empty() {
            let sources = &edits.applied(set);
            let renderings = &render_of(sources, &used);
            let edited = Edited {
                sources,
                renderings,
            };
            if plan.take_back_lost(&seen, edited) {
                edits = self::edits(set, &plan, settings);
            }
        }
        let taking = renderings.iter();
        let taking = taking.filter(|one| !one.used.is_disjoint(&used));
        plan.findings.extend(not_followed(taking, &rendered));
        let notes = plan.pods.into_iter().flat_map(|pod| pod.notes);
        plan.findings.extend(notes);
        (edits, plan.findings)
    });
    let (edits, mut findings) = judged.value;
    findings.extend(judged.faults);
    let refused: HashSet<_> = findings
        .iter()
        .filter(|finding| finding.rule == AMBIGUOUS_YAML)
        .map(|finding| (Arc::clone(&finding.primary.path), finding.primary.span))
        .collect();
    let is_known = |finding: &Finding| {
        let place = &finding.primary;
        finding.rule == AMBIGUOUS_YAML && refused.contains(&(Arc::clone(&place.path), place.span))
    };
    findings.extend(problems(original).into_iter().filter(|one| !is_known(one)));
    findings.extend(rules::unrendered(&original.files));
    let set = edits.applied(original);
    findings.extend(edits.refused);
    Rewritten {
        changed: Changed::between(original, &set),
        findings: settled(original, findings, settings),
        set,
        changes: edits.changes,
        pods: edits.pods,
    }
}

/// What a plan comes to in bytes.
#[derive(Default)]
struct Edits {
    by_file: BTreeMap<Arc<str>, Vec<Edit>>,
    documents: BTreeSet<DocumentId>,
    /// The changes that are made.
    changes: Vec<Change>,
    pods: usize,
    /// The documents that cannot be edited.
    refused: Vec<Finding>,
}

impl Edits {
    /// Returns the documents that change and that a rendering takes in.
    fn documents_of(&self, renderings: &[Rendering]) -> BTreeSet<DocumentId> {
        let is_used = |id: &&DocumentId| renderings.iter().any(|one| one.used.contains(*id));
        self.documents.iter().filter(is_used).cloned().collect()
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
    // To prove an edit costs more than all else, and no document depends on another one.
    let made: Vec<_> = by_document
        .into_par_iter()
        .map(|(id, pods)| {
            let changes = pods.iter().flat_map(|pod| pod.changes.iter().cloned());
            let changes: Vec<Change> = changes.collect();
            let mut edits = edits_of(set, &id, &changes);
            if plan.direction == Direction::Ahead {
                edits = edits.map(|edits| undoable(set, &id, edits?, settings));
            }
            (id, pods.len(), changes, edits)
        })
        .collect();
    let mut all = Edits::default();
    for (id, pods, changes, edits) in made {
        match edits {
            Some(Ok(new)) => {
                let (path, _) = &id;
                let edits = all.by_file.entry(Arc::clone(path)).or_default();
                edits.extend(new);
                all.pods += pods;
                all.changes.extend(changes);
                all.documents.insert(id);
            }
            Some(Err(error)) => all.refused.push(refused(id, &error)),
            None => {}
        }
    }
    all
}

/// `None` where there is nothing that may be edited.
fn edits_of(
    set: &SourceSet,
    (path, index): &DocumentId,
    changes: &[Change],
) -> Option<Result<Vec<Edit>, EditError>> {
    let file = set.file(path)?;
    let document = file.documents.get(*index)?;
    let is_own = file.role == Role::Target && !file.is_linked();
    let editable = is_own && !document.patch && !document.encrypted;
    if !editable || changes.is_empty() {
        return None;
    }
    Some(yaml::apply(document.tree()?, changes))
}

/// Returns the edits of a rewrite where `--undo` can take them back.
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
    let message = format!("the document was left as it is: {}", error.reason);
    let mut finding = Finding::new(EDIT_REFUSED, Severity::Error, label, message);
    finding.document = document;
    finding
}
