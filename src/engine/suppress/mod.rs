//! Findings that the user has silenced: by a comment, an annotation or the configuration.

mod collect;
mod directive;
mod index;
mod rendered;
mod report;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::finding::{Finding, SuppressedBy, Suppression};
use crate::predict::WorkloadPrediction;
use crate::source::SourceSet;

use super::check::paths_of;
use super::levels::Ignores;

use collect::{Directive, collect};
use index::Index;

pub(super) use rendered::AnnotatedPods;

/// The suppressions of a run, and which of them silenced something.
#[derive(Debug, Default)]
pub(super) struct Suppressions {
    directives: Vec<Directive>,
    /// The directives by what they name and cover: a baseline has one for every finding.
    index: Index,
    /// Groups of the index.
    used: RefCell<BTreeSet<usize>>,
}

impl Suppressions {
    /// Reads the suppressions that are written in the files.
    pub(super) fn read(set: &SourceSet) -> Self {
        let directives = collect(set);
        Self {
            index: Index::of(&directives),
            directives,
            ..Self::default()
        }
    }

    /// Marks a finding that something in the files silences. `pods` are the workloads that it
    /// may be about: what a kustomization annotates is not written beside the finding.
    pub(super) fn mark(
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
        let found = self.by_rendered(set, annotated, pods, finding);
        if finding.suppressed.is_none() {
            finding.suppressed = by.or(found);
        }
    }

    /// The annotation as it stands on the rendered object, wherever it was brought in.
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

/// Marks a finding that the configuration silences.
pub(super) fn mark_configured(set: &SourceSet, ignores: &Ignores<'_>, finding: &mut Finding) {
    if ignores.is_empty() {
        return;
    }
    let paths = paths_of(set, finding);
    if let Some(entry) = ignores.silencing(finding.rule, &paths) {
        finding.suppressed.get_or_insert_with(|| Suppression {
            by: SuppressedBy::Configuration,
            reason: entry.reason.clone(),
            path: Arc::clone(&entry.file),
            line: entry.line,
        });
    }
}

fn suppression(directive: &Directive) -> Suppression {
    let said = directive.said.as_ref();
    Suppression {
        by: directive.by,
        reason: said.map(|said| said.reason.clone()).unwrap_or_default(),
        path: Arc::clone(&directive.place.path),
        line: directive.line,
    }
}
