//! The suppressions of a run, and the findings that they suppress.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::finding::{Finding, Label, RuleId, SuppressedBy, Suppression};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_rules::rules::notices::rule_names;
use meshprobe_tree::source::SourceSet;
use meshprobe_yaml::Span;

use super::collect::{Directive, SuppressedRange, collect};
use super::rendered::AnnotatedPods;
use crate::engine::fix_history::keep_suppressed_values;
use crate::engine::levels::Ignores;
use crate::engine::outcome::{Outcome, paths_of};

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

/// Suppresses the findings for which `is_known` returns true.
pub fn suppress_known(
    outcome: &mut Outcome,
    by: &Suppression,
    mut is_known: impl FnMut(&Finding) -> bool,
) {
    let findings = std::mem::take(&mut outcome.findings).into_iter();
    let (known, new): (Vec<_>, Vec<_>) = findings.partition(|finding| is_known(finding));
    outcome.findings = new;
    keep_suppressed_values(&known, &mut outcome.findings);
    let suppressed = known.into_iter().map(|mut finding| {
        finding.suppressed = Some(by.clone());
        finding
    });
    outcome.suppressed.extend(suppressed);
    outcome.sort_suppressed();
    outcome.summary.suppressed = outcome.suppressed.len();
    outcome.summary.count_findings(&outcome.findings);
}

/// The file, the rule and the container of a name in a suppression.
type Key = (Arc<str>, RuleId, Option<String>);

/// Groups of names that suppress the same findings.
#[derive(Debug, Default)]
pub(super) struct Index {
    by_line: HashMap<(Key, usize), usize>,
    by_object: HashMap<Key, Nested>,
    groups: Vec<Group>,
    /// The group of a name, by the index of its directive and its index in the directive.
    of_name: HashMap<(usize, usize), usize>,
}

#[derive(Debug)]
struct Group {
    /// The index of the first directive.
    first: usize,
    /// The locations of its directives.
    places: Vec<Span>,
}

/// Spans that contain each other or are disjoint, like the objects of a file, each with its group.
#[derive(Debug, Default)]
struct Nested {
    /// Span, group, and index of the span that contains it; sorted by start, the widest first.
    spans: Vec<(Span, usize, Option<usize>)>,
}

impl Nested {
    fn new(mut found: Vec<(Span, usize)>) -> Self {
        found.sort_unstable_by_key(|(span, _)| (span.start, std::cmp::Reverse(span.end)));
        let mut spans: Vec<(Span, usize, Option<usize>)> = Vec::with_capacity(found.len());
        let mut open: Vec<usize> = Vec::new();
        for (span, group) in found {
            let is_past = |at: &usize| {
                let outer = spans.get(*at);
                outer.is_none_or(|(outer, ..)| outer.end < span.end)
            };
            while open.last().is_some_and(is_past) {
                open.pop();
            }
            spans.push((span, group, open.last().copied()));
            open.push(spans.len() - 1);
        }
        Self { spans }
    }

    /// Returns the groups whose spans contain `place`, from the inside to the outside.
    fn around(&self, place: Span) -> Vec<usize> {
        let after = self
            .spans
            .partition_point(|(span, ..)| span.start <= place.start);
        let mut next = after.checked_sub(1);
        let mut found = Vec::new();
        while let Some((span, group, outer)) = next.and_then(|at| self.spans.get(at)) {
            if span.contains(place) {
                found.push(*group);
            }
            next = *outer;
        }
        found
    }
}

impl Index {
    /// Groups the names of all directives.
    pub(super) fn of(directives: &[Directive]) -> Self {
        let mut index = Self::default();
        let mut by_object: HashMap<Key, HashMap<Span, usize>> = HashMap::new();
        for (at, directive) in directives.iter().enumerate() {
            let names = directive.parsed.iter().flat_map(|parsed| &parsed.names);
            for (number, name) in names.enumerate() {
                // No finding has an unknown id.
                let Some(rule) = rule_names().find(&name.rule) else {
                    continue;
                };
                let path = Arc::clone(&directive.place.path);
                let key = (path, rule, name.container.clone());
                let group = match directive.range {
                    SuppressedRange::Line(line) => index.by_line.entry((key, line)),
                    SuppressedRange::Bytes(span) => {
                        let found = by_object.entry(key).or_default().entry(span);
                        let group = *found.or_insert_with(|| new_group(&mut index.groups, at));
                        index.add(group, (at, number), directive);
                        continue;
                    }
                };
                let group = *group.or_insert_with(|| new_group(&mut index.groups, at));
                index.add(group, (at, number), directive);
            }
        }
        index.by_object = by_object
            .into_iter()
            .map(|(key, spans)| (key, Nested::new(spans.into_iter().collect())))
            .collect();
        index
    }

    fn add(&mut self, group: usize, name: (usize, usize), directive: &Directive) {
        self.of_name.insert(name, group);
        if let Some(group) = self.groups.get_mut(group) {
            group.places.push(directive.place.span);
        }
    }

    /// Returns the first directive of a group.
    pub(super) fn first_of(&self, group: usize) -> Option<usize> {
        self.groups.get(group).map(|group| group.first)
    }

    /// Returns the group of a name of a directive.
    pub(super) fn group_of(&self, directive: usize, name: usize) -> Option<usize> {
        self.of_name.get(&(directive, name)).copied()
    }

    /// Returns the groups that suppress a finding on `line`.
    pub(super) fn covering(&self, finding: &Finding, line: Option<usize>) -> Vec<usize> {
        if self.groups.is_empty() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for key in keys(finding, &finding.primary.path) {
            if let Some(nested) = self.by_object.get(&key) {
                found.extend(nested.around(finding.primary.span));
            }
            let on_line = line.and_then(|line| self.by_line.get(&(key, line)));
            found.extend(on_line);
        }
        found
    }

    /// Returns the groups that name a finding and are written in a value.
    pub(super) fn written_in(&self, finding: &Finding, value: &Label) -> Vec<usize> {
        let keys = keys(finding, &value.path);
        let is_inside =
            |place: &Span| place.start >= value.span.start && place.start <= value.span.end;
        keys.iter()
            .filter_map(|key| self.by_object.get(key))
            .flat_map(|nested| nested.around(value.span))
            .filter(|group| {
                let group = self.groups.get(*group);
                group.is_some_and(|group| group.places.iter().any(is_inside))
            })
            .collect()
    }
}

fn new_group(groups: &mut Vec<Group>, first: usize) -> usize {
    groups.push(Group {
        first,
        places: Vec::new(),
    });
    groups.len() - 1
}

/// Returns the keys of names that select a finding: with its container, and without a container.
fn keys(finding: &Finding, path: &Arc<str>) -> Vec<Key> {
    let key = |container| (Arc::clone(path), finding.rule, container);
    finding
        .container
        .iter()
        .map(|name| key(Some(name.clone())))
        .chain([key(None)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_spans_are_found_from_the_inside_to_the_outside() {
        let span = Span::new;
        let nested = Nested::new(vec![
            (span(0, 100), 0),
            (span(10, 20), 1),
            (span(30, 60), 2),
            (span(30, 40), 3),
            (span(200, 210), 4),
        ]);
        assert_eq!(nested.around(span(32, 33)), [3, 2, 0]);
        assert_eq!(nested.around(span(50, 55)), [2, 0]);
        assert_eq!(nested.around(span(12, 15)), [1, 0]);
        assert_eq!(nested.around(span(25, 26)), [0]);
        assert_eq!(nested.around(span(150, 151)), [0_usize; 0]);
        assert_eq!(nested.around(span(205, 206)), [4]);
    }
}
