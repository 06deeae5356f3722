//! Counts the files, workloads and findings of a run.

use meshprobe_mesh::finding::{Finding, Severity};
use meshprobe_mesh::mesh::{Mesh, Version, is_newer_than_proven};
use meshprobe_predict::predict::{Cause, Outcome, Verdict, WorkloadPrediction};
use meshprobe_tree::source::{Content, Document, Fault, Role, SourceFile, SourceSet};
use serde::Serialize;

/// The number of files by the result of reading them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileCounts {
    /// Files that were read, regardless of their content.
    pub read: usize,
    /// Of these: files without a Kubernetes document.
    pub not_kubernetes: usize,
    /// Of these: templates.
    pub template: usize,
    /// Files that are unreadable or not UTF-8, or that contain a document that is not YAML.
    pub broken: usize,
}

/// The number of files that are only read for facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ContextCounts {
    /// All such files.
    pub files: usize,
    /// Of these: files that cannot be read or parsed, and that the user did not name. Facts may be missing.
    pub unread: usize,
}

impl ContextCounts {
    fn count(&mut self, file: &SourceFile) {
        self.files += 1;
        self.unread += usize::from(file.role == Role::Repository && is_unread(file));
    }
}

/// Returns the files that are only read for facts and cannot be read or parsed, in the order of the files.
#[must_use]
pub fn unread_context(set: &SourceSet) -> Vec<&SourceFile> {
    let files = set.files.iter();
    files
        .filter(|file| file.role == Role::Repository && is_unread(file))
        .collect()
}

/// Returns whether a file may contain objects that are not known.
fn is_unread(file: &SourceFile) -> bool {
    let is_broken = |document: &Document| {
        matches!(
            document.content,
            Content::Broken {
                kubernetes: true,
                ..
            }
        )
    };
    match &file.fault {
        Some(Fault::DanglingLink | Fault::UnlistedIndex(_)) => false,
        Some(Fault::NotUtf8 { kubernetes } | Fault::TooLarge { kubernetes, .. }) => *kubernetes,
        Some(Fault::Unreadable(_) | Fault::Panicked(_) | Fault::NotRendered { .. }) => true,
        None => file.documents.iter().any(is_broken),
    }
}

/// The number of workloads without a verdict, by the missing fact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissingFacts {
    /// Whether the pod is in a mesh.
    pub mesh: usize,
    /// Whether an AuthorizationPolicy allows the probe.
    pub authorization: usize,
    /// A value that another tool fills in.
    pub value: usize,
    /// How the running mesh handles the connection.
    pub running: usize,
}

impl MissingFacts {
    pub(super) fn count(&mut self, workload: &WorkloadPrediction<'_>) {
        let unknown = workload
            .handlers
            .iter()
            .map(|handler| &handler.verdict)
            .filter(|verdict| verdict.outcome == Outcome::Unknown);
        // An option can settle a missing Namespace, but not a label that another tool fills in.
        let is_open =
            |verdict: &Verdict| verdict.because.iter().any(|reason| reason.settle.is_some());
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

/// What the facts of a configuration of the tree decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConfiguredPredictions {
    /// The configuration file, as shown to the user.
    pub file: String,
    /// The number of predictions whose outcome would differ without these facts.
    pub predictions: usize,
}

impl ConfiguredPredictions {
    /// Counts the predictions whose outcome differs without the facts. Both lists have the same order.
    pub(super) fn count(
        file: &str,
        with: &[WorkloadPrediction<'_>],
        without: &[WorkloadPrediction<'_>],
    ) -> Self {
        let pairs = with.iter().zip(without).filter(|(with, _)| with.is_target);
        let handlers =
            pairs.flat_map(|(with, without)| with.handlers.iter().zip(&without.handlers));
        let differ =
            handlers.filter(|(with, without)| with.verdict.outcome != without.verdict.outcome);
        Self {
            file: file.to_owned(),
            predictions: differ.count(),
        }
    }
}

/// The counters of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The number of files.
    pub files: FileCounts,
    /// Files that are only read for facts.
    pub context: ContextCounts,
    /// The number of Kubernetes documents.
    pub documents: usize,
    /// The number of workloads with a pod template, and of groups of virtual machines.
    pub workloads: usize,
    /// What runs pods and is not judged: charts and their releases, kustomizations none of whose workloads is known,
    /// parts of pods, and workloads whose facts do not suffice for a verdict.
    pub not_judged: usize,
    /// The missing facts of workloads without a verdict. A workload can be counted more than once.
    #[serde(skip)]
    pub missing_facts: MissingFacts,
    /// The newest release of the workloads, if it is newer than all that an oracle has compared with meshprobe.
    #[serde(skip)]
    pub unproven_release: Option<(Mesh, Version)>,
    /// Probes and lifecycle hooks.
    pub handlers: usize,
    /// Findings of severity error.
    pub errors: usize,
    /// Findings of severity warning.
    pub warnings: usize,
    /// Findings of severity note.
    pub notes: usize,
    /// Findings that the user has suppressed.
    pub suppressed: usize,
    /// Findings below `--min-severity`.
    pub hidden: usize,
    /// Findings of rules with the level `ignore`.
    pub ignored: usize,
    /// Findings whose severity the settings have changed.
    pub severity_changed: usize,
    /// What the facts of a configuration of the tree decide; `None` if it has none.
    pub configured: Option<ConfiguredPredictions>,
}

impl Summary {
    /// Counts files and documents.
    #[must_use]
    pub fn of_files(set: &SourceSet) -> Self {
        let mut summary = Self::default();
        for file in &set.files {
            match file.role {
                Role::Target => summary.count_file(file),
                Role::Context | Role::Repository => summary.context.count(file),
            }
        }
        summary
    }

    fn count_file(&mut self, file: &SourceFile) {
        if !matches!(
            file.fault,
            Some(
                Fault::Unreadable(_)
                    | Fault::UnlistedIndex(_)
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

    /// Returns whether the files contain nothing to judge.
    #[must_use]
    pub const fn judges_nothing(&self) -> bool {
        self.workloads == 0
    }

    /// Counts the workloads of targets, and their handlers.
    pub fn count_predictions(&mut self, predictions: &[WorkloadPrediction<'_>]) {
        for workload in predictions.iter().filter(|prediction| prediction.is_target) {
            self.workloads += 1;
            self.handlers += workload.handlers.len();
            self.missing_facts.count(workload);
        }
        self.unproven_release = newest_unproven(predictions);
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

/// Returns the newest release of the workloads, if it is newer than all that an oracle has compared with meshprobe.
#[must_use]
pub(super) fn newest_unproven(predictions: &[WorkloadPrediction<'_>]) -> Option<(Mesh, Version)> {
    let targets = predictions.iter().filter(|prediction| prediction.is_target);
    targets
        .filter_map(|prediction| Some((prediction.mesh.value?, prediction.release.value?)))
        .filter(|(mesh, release)| is_newer_than_proven(*mesh, *release))
        .max_by_key(|(_, release)| *release)
}
