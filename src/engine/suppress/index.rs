//! Looks up suppressions by the findings that they name and the part of the file that they cover.

use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::finding::{Finding, Label, RuleId};
use meshprobe_yaml::Span;

use super::collect::{Directive, SuppressedRange};
use meshprobe_rules::rules::notices::rule_names;

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
