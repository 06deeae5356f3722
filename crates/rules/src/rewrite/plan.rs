//! The plan of a rewrite or an undo: the changes and findings of each pod.

use std::collections::BTreeMap;
use std::sync::Arc;

use meshprobe_deploy::kustomize::Rendering;
use meshprobe_mesh::finding::{Finding, GuardId, Refusal, Severity};
use meshprobe_mesh::kube::{Object, ObjectId, Workload};
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{Change, FieldPath, Span};

/// The refusal of a guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GuardFailure {
    /// The public id.
    pub(super) guard: GuardId,
    /// The position that causes the refusal.
    pub(super) span: Span,
    /// The reason, in one sentence.
    pub(super) message: String,
    /// What to do about it.
    pub(super) help: Option<String>,
}

/// Returns the refusal of a guard.
pub(super) fn refuse(guard: GuardId, span: Span, message: impl Into<String>) -> GuardFailure {
    GuardFailure {
        guard,
        span,
        message: message.into(),
        help: None,
    }
}

impl GuardFailure {
    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Turns the refusal into a finding about the workload.
    pub(super) fn finding(self, pod: &WorkloadPrediction<'_>) -> Finding {
        let object = &pod.workload.object;
        let id = (self.guard, Severity::Error);
        let mut finding = Finding::on_object(object, self.span, id, String::new());
        finding.set_refusal(Refusal {
            start: format!("{} is not rewritten: ", pod.workload.title()),
            reason: self.message,
        });
        finding.help = self.help;
        finding
    }
}

pub(super) fn name_span(pod: &WorkloadPrediction<'_>) -> Span {
    pod.workload.object.name_span()
}

/// The plan for one pod.
#[derive(Debug, Default)]
pub(super) struct PodOutcome {
    pub(super) changes: Vec<Change>,
    pub(super) findings: Vec<Finding>,
}

impl PodOutcome {
    pub(super) fn left(findings: impl IntoIterator<Item = Finding>) -> Self {
        Self {
            changes: Vec::new(),
            findings: findings.into_iter().collect(),
        }
    }
}

pub(super) fn refused(refusal: GuardFailure, pod: &WorkloadPrediction<'_>) -> Finding {
    let parts = not_undone(&pod.workload, &refusal.message);
    let mut finding = refusal.finding(pod);
    finding.set_refusal(parts);
    finding
}

/// Returns the refusal to undo the rewrite of a workload.
pub(super) fn not_undone(workload: &Workload<'_>, reason: &str) -> Refusal {
    Refusal {
        start: format!("the rewrite of {} is not undone: ", workload.title()),
        reason: reason.to_owned(),
    }
}

/// The predictions for a tree: for its files, and for the renderings of its kustomizations.
#[derive(Clone, Copy, Debug)]
pub struct RewriteInput<'a, 't> {
    /// The facts without renderings.
    pub context: &'a Context<'t>,
    /// The workloads of the files.
    pub plain: &'a [WorkloadPrediction<'t>],
    /// The facts with all renderings.
    pub overlaid: &'a Context<'t>,
    /// The workloads of the renderings and all others.
    pub rendered: &'a [WorkloadPrediction<'t>],
    /// All renderings.
    pub renderings: &'t [Rendering],
}

/// The changes to one pod.
#[derive(Clone, Debug, PartialEq)]
pub struct PodRewrite {
    /// The path of the file.
    pub path: Arc<str>,
    /// The document within the file, from 0.
    pub document: usize,
    /// The object within the document.
    pub object: FieldPath,
    pub changes: Vec<Change>,
    /// The findings to report once the changes are made.
    pub notes: Vec<Finding>,
}

impl PodRewrite {
    pub(super) fn is_of(&self, object: &Object<'_>) -> bool {
        let document = object.document;
        self.path == document.path && self.document == document.index && self.object == object.route
    }
}

/// The direction of a plan: rewrite or undo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Probes are rewritten to target the agent.
    #[default]
    Rewrite,
    /// A rewrite is undone.
    Undo,
}

impl Direction {
    /// Returns what to do if a file cannot be changed because of the overlay that `build` builds.
    pub(super) fn help(self, build: &str) -> String {
        match self {
            Self::Rewrite => {
                format!(
                    "rewrite what the overlay builds: `{build} | meshprobe rewrite --context . -`"
                )
            }
            Self::Undo => {
                format!(
                    "undo it in what the overlay builds: `{build} | meshprobe rewrite --undo --context . -`"
                )
            }
        }
    }

    pub(super) fn finding(self, refusal: GuardFailure, pod: &WorkloadPrediction<'_>) -> Finding {
        match self {
            Self::Rewrite => refusal.finding(pod),
            Self::Undo => refused(refusal, pod),
        }
    }
}

/// What a plan does with a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is changed.
    Change,
    /// It is changed for a preview.
    Preview,
    /// It is not changed, and a finding has the reason.
    Refuse,
    /// Its owner, or the template that it selects, has switched the rewrite off.
    OptOut,
    /// Nothing has to be changed.
    Nothing,
}

impl Decision {
    /// Returns the decision about a workload that is not changed, with these findings.
    pub(super) fn unchanged(findings: &[Finding]) -> Self {
        let switched_off = [GuardId::OPT_OUT.rule(), GuardId::PROXYLESS.rule()];
        if findings
            .iter()
            .any(|finding| finding.severity > Severity::Note)
        {
            Self::Refuse
        } else if findings
            .iter()
            .any(|finding| switched_off.contains(&finding.rule))
        {
            Self::OptOut
        } else {
            Self::Nothing
        }
    }
}

/// The planned changes of a rewrite or an undo.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The direction.
    pub direction: Direction,
    /// The pods to change, in the order of the tree.
    pub pods: Vec<PodRewrite>,
    /// Refusals (errors that name their guard) and notes.
    pub findings: Vec<Finding>,
    /// What is done with each workload.
    pub decisions: BTreeMap<ObjectId, Decision>,
}

impl Plan {
    /// Adds a workload that is not changed, with the reason.
    pub fn refuse(&mut self, workload: ObjectId, reason: Finding) {
        self.decisions.insert(workload, Decision::Refuse);
        self.findings.push(reason);
    }

    pub(super) fn add(
        &mut self,
        prediction: &WorkloadPrediction<'_>,
        changes: Vec<Change>,
        notes: Vec<Finding>,
    ) {
        let object = &prediction.workload.object;
        if changes.is_empty() {
            let decision = Decision::unchanged(&notes);
            self.decisions.insert(object.id(), decision);
            self.findings.extend(notes);
            return;
        }
        let is_preview = |note: &Finding| note.rule == GuardId::PREVIEW.rule();
        let decision = if notes.iter().any(is_preview) {
            Decision::Preview
        } else {
            Decision::Change
        };
        self.decisions.insert(object.id(), decision);
        self.pods.push(PodRewrite {
            path: Arc::clone(object.path()),
            document: object.document.index,
            object: object.route.clone(),
            changes,
            notes,
        });
    }
}
