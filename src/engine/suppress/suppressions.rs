//! The suppressions of a run, and the findings that they suppress.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use meshprobe_mesh::finding::{Finding, SuppressedBy, Suppression};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::SourceSet;

use super::collect::{Directive, collect};
use super::index::Index;
use super::rendered::AnnotatedPods;
use crate::engine::levels::Ignores;
use crate::engine::outcome::paths_of;

/// The suppressions of a run, and which of them are used.
#[derive(Debug, Default)]
pub(in crate::engine) struct Suppressions {
    pub(super) directives: Vec<Directive>,
    /// The lookup of the directives. A baseline has a directive for every finding, so they are not searched one by one.
    pub(super) index: Index,
    /// The used groups of the index.
    pub(super) used: RefCell<BTreeSet<usize>>,
}

impl Suppressions {
    /// Reads the suppressions in the files.
    pub(in crate::engine) fn read(set: &SourceSet) -> Self {
        let directives = collect(set);
        Self {
            index: Index::of(&directives),
            directives,
            ..Self::default()
        }
    }

    /// Marks a finding that a suppression in the files suppresses. `pods` are the workloads that the finding may be about:
    /// the annotation of a kustomization is in another file than the finding.
    pub(in crate::engine) fn mark(
        &self,
        set: &SourceSet,
        annotated: &AnnotatedPods<'_, '_>,
        pods: &[WorkloadPrediction<'_>],
        finding: &mut Finding,
    ) {
        let line = set
            .file(&finding.primary.path)
            .map(|file| file.line_of(finding.primary.span));
        let groups = self.index.covering(finding, line);
        let first = groups
            .iter()
            .filter_map(|at| self.index.first_of(*at))
            .min();
        self.used.borrow_mut().extend(groups);
        let by = first
            .and_then(|at| self.directives.get(at))
            .map(suppression);
        let by_rendered = self.by_rendered(set, annotated, pods, finding);
        if finding.suppressed.is_none() {
            finding.suppressed = by.or(by_rendered);
        }
    }

    /// Returns the suppression from an annotation of the rendered object, which may come from any file.
    fn by_rendered(
        &self,
        set: &SourceSet,
        annotated: &AnnotatedPods<'_, '_>,
        pods: &[WorkloadPrediction<'_>],
        finding: &Finding,
    ) -> Option<Suppression> {
        let mut by = None;
        for line in annotated.lines_about(finding, pods) {
            let groups = self.index.written_in(finding, &line.place);
            self.used.borrow_mut().extend(groups);
            let first = set
                .file(&line.place.path)
                .map_or(1, |file| file.line_of(line.place.span));
            by.get_or_insert_with(|| Suppression {
                by: SuppressedBy::Annotation,
                reason: line.reason.clone(),
                path: Arc::clone(&line.place.path),
                line: first + line.before,
            });
        }
        by
    }
}

/// Marks a finding that the configuration suppresses.
pub(in crate::engine) fn mark_configured(
    set: &SourceSet,
    ignores: &Ignores<'_>,
    finding: &mut Finding,
) {
    if ignores.is_empty() {
        return;
    }
    let paths = paths_of(set, finding);
    if let Some(entry) = ignores.suppressing(finding.rule, &paths) {
        finding.suppressed.get_or_insert_with(|| Suppression {
            by: SuppressedBy::Configuration,
            reason: entry.reason.clone(),
            path: Arc::clone(&entry.scope.file),
            line: entry.line,
        });
    }
}

fn suppression(directive: &Directive) -> Suppression {
    let reason = directive
        .parsed
        .as_ref()
        .map(|parsed| parsed.reason.clone());
    Suppression {
        by: directive.by,
        reason: reason.unwrap_or_default(),
        path: Arc::clone(&directive.place.path),
        line: directive.line,
    }
}
