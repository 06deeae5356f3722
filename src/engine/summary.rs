//! Counts what a run has seen.

use serde::Serialize;

use crate::finding::{Finding, Severity};
use crate::predict::{Cause, Outcome, Verdict, WorkloadPrediction};
use crate::source::{Content, Fault, SourceFile, SourceSet};

/// What became of the files that were to be judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileCounts {
    /// Read, whatever they hold.
    pub read: usize,
    /// Of these: without any Kubernetes document.
    pub not_kubernetes: usize,
    /// Of these: the source of a template.
    pub template: usize,
    /// With a document that is not YAML, not UTF-8, or not readable at all.
    pub broken: usize,
}

/// How many workloads could not be judged, by what the tree does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Whether there is a mesh.
    pub mesh: usize,
    /// Whether an AuthorizationPolicy lets the probe in.
    pub authorization: usize,
    /// A value that another tool fills in.
    pub value: usize,
    /// What the mesh does with the connection.
    pub running: usize,
}

impl Gaps {
    fn count(&mut self, workload: &WorkloadPrediction<'_>) {
        let unknown = workload
            .handlers
            .iter()
            .map(|handler| &handler.verdict)
            .filter(|verdict| verdict.outcome == Outcome::Unknown);
        // A label that another tool fills in is written, a Namespace that is missing is not.
        let is_open = |verdict: &Verdict| verdict.because.iter().any(|one| one.settle.is_some());
        let (mut mesh, mut authorization, mut value, mut running) = (false, false, false, false);
        for verdict in unknown {
            match verdict.cause {
                Cause::AuthorizationUnknown => authorization = true,
                Cause::MeshDecides => running = true,
                Cause::MeshUnknown if is_open(verdict) => mesh = true,
                _ => value = true,
            }
        }
        self.mesh += usize::from(mesh);
        self.authorization += usize::from(authorization);
        self.value += usize::from(value);
        self.running += usize::from(running);
    }
}

/// The counters of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Files.
    pub files: FileCounts,
    /// Kubernetes documents.
    pub documents: usize,
    /// Workloads with a pod template.
    pub workloads: usize,
    /// Workloads whose facts do not suffice for a verdict, and kustomizations all of whose
    /// workloads are out of sight.
    pub not_judged: usize,
    /// Of these: the kustomizations.
    #[serde(skip)]
    pub unseen: usize,
    /// Why workloads were not judged; one may count more than once.
    #[serde(skip)]
    pub gaps: Gaps,
    /// Probes and lifecycle hooks.
    pub handlers: usize,
    /// Findings of severity error.
    pub errors: usize,
    /// Findings of severity warning.
    pub warnings: usize,
    /// Findings of severity note.
    pub notes: usize,
    /// Findings that the user has silenced.
    pub suppressed: usize,
    /// Findings below `--min-severity`.
    pub hidden: usize,
    /// Findings of rules with the level `ignore`.
    pub ignored: usize,
    /// Findings whose severity the settings have changed.
    pub severity_changed: usize,
    /// Manifests that git tracks and that an ignore file hides; only counted in a gate.
    pub tracked_hidden: usize,
}

impl Summary {
    /// Counts files and documents.
    #[must_use]
    pub fn of_files(set: &SourceSet) -> Self {
        let mut summary = Self::default();
        for file in set.targets() {
            summary.count_file(file);
        }
        let hidden = set.files.iter().flat_map(|file| &file.hides);
        let hidden = hidden.filter_map(|hidden| hidden.tracked.as_ref().ok());
        summary.tracked_hidden = hidden.map(Vec::len).sum();
        summary
    }

    fn count_file(&mut self, file: &SourceFile) {
        if !matches!(
            file.fault,
            Some(
                Fault::Unreadable(_)
                    | Fault::DanglingLink
                    | Fault::TooLarge { .. }
                    | Fault::NotRendered { .. }
            )
        ) {
            self.files.read += 1;
        }
        let has = |wanted: fn(&Content) -> bool| {
            file.documents
                .iter()
                .any(|document| wanted(&document.content))
        };
        let template = has(|content| matches!(content, Content::Template));
        let broken =
            file.fault.is_some() || has(|content| matches!(content, Content::Broken { .. }));
        let trees = file
            .documents
            .iter()
            .filter(|document| document.tree().is_some())
            .count();
        self.documents += trees;
        self.files.template += usize::from(template);
        self.files.broken += usize::from(broken);
        self.files.not_kubernetes += usize::from(trees == 0 && !template && !broken);
    }

    /// Counts the workloads that are reported on, and their handlers.
    pub fn count_predictions(&mut self, predictions: &[WorkloadPrediction<'_>]) {
        for workload in predictions.iter().filter(|prediction| prediction.is_target) {
            self.workloads += 1;
            self.handlers += workload.handlers.len();
            self.not_judged += usize::from(!workload.is_judged());
            self.gaps.count(workload);
        }
    }

    /// Counts findings by severity.
    pub fn count_findings(&mut self, findings: &[Finding]) {
        let count = |severity| {
            findings
                .iter()
                .filter(|finding| finding.severity == severity)
                .count()
        };
        self.errors = count(Severity::Error);
        self.warnings = count(Severity::Warning);
        self.notes = count(Severity::Note);
    }
}
