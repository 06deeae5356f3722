//! Findings that the user has silenced: by a comment, an annotation or the configuration.

mod collect;
mod directive;
mod report;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::finding::{Finding, Label, SuppressedBy, Suppression};
use crate::predict::WorkloadPrediction;
use crate::settings::Settings;
use crate::source::SourceSet;

use super::check::paths_of;

use collect::{Covers, Directive, collect, entries, lines_before};
use directive::{Name, of_annotation};
use hashbrown::HashMap;

/// The suppressions of a run, and which of them silenced something.
#[derive(Debug, Default)]
pub(super) struct Suppressions {
    directives: Vec<Directive>,
    /// The directives that cover a line of a file, and those that cover bytes of it: a baseline has
    /// one for every finding.
    by_line: HashMap<(Arc<str>, usize), Vec<usize>>,
    by_bytes: HashMap<Arc<str>, Vec<usize>>,
    /// The directive and the name in it.
    used: RefCell<BTreeSet<(usize, usize)>>,
    /// Entries of the configuration.
    used_entries: RefCell<BTreeSet<usize>>,
}

impl Suppressions {
    /// Reads the suppressions that are written in the files.
    pub(super) fn read(set: &SourceSet) -> Self {
        let mut read = Self {
            directives: collect(set),
            ..Self::default()
        };
        for (at, directive) in read.directives.iter().enumerate() {
            let path = Arc::clone(&directive.place.path);
            let covering = match directive.covers {
                Covers::Line(line) => read.by_line.entry((path, line)).or_default(),
                Covers::Bytes(_) => read.by_bytes.entry(path).or_default(),
            };
            covering.push(at);
        }
        read
    }

    /// Lists the directives that cover a place, in their order.
    fn covering(&self, place: &Label, line: Option<usize>) -> Vec<usize> {
        let path = Arc::clone(&place.path);
        let by_line = line.and_then(|line| self.by_line.get(&(path, line)));
        let by_bytes = self.by_bytes.get(&place.path).into_iter().flatten();
        let within = by_bytes.filter(|&&at| {
            let directive = self.directives.get(at);
            directive.is_some_and(
                |one| matches!(one.covers, Covers::Bytes(span) if span.contains(place.span)),
            )
        });
        let mut found: Vec<usize> = by_line
            .into_iter()
            .flatten()
            .chain(within)
            .copied()
            .collect();
        found.sort_unstable();
        found
    }

    /// Marks a finding that something in the files silences. `pods` are the workloads that it
    /// may be about: what a kustomization annotates is not written beside the finding.
    pub(super) fn mark(
        &self,
        set: &SourceSet,
        pods: &[WorkloadPrediction<'_>],
        finding: &mut Finding,
    ) {
        let line = set
            .file(&finding.primary.path)
            .map(|file| file.line_of(finding.primary.span));
        let mut by = None;
        for at in self.covering(&finding.primary, line) {
            let Some(directive) = self.directives.get(at) else {
                continue;
            };
            if self.silences(at, directive, finding) {
                by.get_or_insert_with(|| suppression(directive));
            }
        }
        let found = self.by_rendered(set, pods, finding);
        if finding.suppressed.is_none() {
            finding.suppressed = by.or(found);
        }
    }

    /// Tells whether a directive names the finding, and remembers that it did.
    fn silences(&self, at: usize, directive: &Directive, finding: &Finding) -> bool {
        let names = directive.said.iter().flat_map(|said| &said.names);
        let mut any = false;
        for (index, _) in names
            .enumerate()
            .filter(|(_, name)| is_about(name, finding))
        {
            self.used.borrow_mut().insert((at, index));
            any = true;
        }
        any
    }

    /// The annotation as it stands on the rendered object, wherever it was brought in.
    fn by_rendered(
        &self,
        set: &SourceSet,
        pods: &[WorkloadPrediction<'_>],
        finding: &Finding,
    ) -> Option<Suppression> {
        let mut by = None;
        let about = finding.object.as_ref()?;
        let rendered = pods.iter().filter(|pod| {
            let object = &pod.workload.object;
            object.rendered_by.is_some()
                && object.name() == about.name
                && object.reference() == *about
        });
        for pod in rendered {
            let object = &pod.workload.object;
            for entry in entries(object, Some(&pod.workload)) {
                let real = object.label_at(entry.value.span(), String::new());
                for (index, line) in entry.value.text().unwrap_or_default().lines().enumerate() {
                    let Some(said) = of_annotation(line) else {
                        continue;
                    };
                    if !said.names.iter().any(|name| is_about(name, finding)) {
                        continue;
                    }
                    for (at, directive) in self.directives.iter().enumerate() {
                        if directive.place.path == real.path
                            && directive.place.span.start >= real.span.start
                            && directive.place.span.start <= real.span.end
                        {
                            self.silences(at, directive, finding);
                        }
                    }
                    let first = set
                        .file(&real.path)
                        .map_or(1, |file| file.line_of(real.span));
                    by.get_or_insert_with(|| Suppression {
                        by: SuppressedBy::Annotation,
                        reason: said.reason.clone(),
                        path: Arc::clone(&real.path),
                        line: first + lines_before(entry.value, index),
                    });
                }
            }
        }
        by
    }

    /// Marks a finding that the configuration silences.
    pub(super) fn mark_configured(
        &self,
        set: &SourceSet,
        settings: &Settings,
        finding: &mut Finding,
    ) {
        if settings.ignore.is_empty() {
            return;
        }
        let paths = paths_of(set, finding);
        for (at, entry) in settings.ignore.iter().enumerate() {
            let here = paths.iter().any(|path| entry.holds_for(path));
            if entry.rule == finding.rule && here {
                self.used_entries.borrow_mut().insert(at);
                finding.suppressed.get_or_insert_with(|| Suppression {
                    by: SuppressedBy::Configuration,
                    reason: entry.reason.clone(),
                    path: Arc::clone(&entry.file),
                    line: entry.line,
                });
            }
        }
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

fn is_about(name: &Name, finding: &Finding) -> bool {
    let container = name.container.is_none() || name.container == finding.container;
    name.rule == finding.rule && container
}
