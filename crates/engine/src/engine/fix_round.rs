//! Applies the fixes of one round: those that can be combined, and that keep the values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meshprobe_mesh::finding::{Applicability, Fix};
use meshprobe_tree::source::{Role, SourceFile, SourceSet};
use meshprobe_yaml as yaml;
use meshprobe_yaml::{Change, Edit, Span, Tree, splice, splice_segment, verify};

use super::fix_history::{FixHistory, Key, RouteSet, key};
use super::outcome::Outcome;
use super::write::Changed;

/// Returns whether the run applies a fix.
pub(super) const fn is_wanted(fix: &Fix, also_unsafe: bool) -> bool {
    match fix.applicability {
        Applicability::Safe => true,
        Applicability::Unsafe(_) => also_unsafe,
        Applicability::DisplayOnly(_) => false,
    }
}

/// Applies the fixes that can be applied together, and returns whether a file has changed.
pub(super) fn apply_round(
    set: &mut SourceSet,
    outcome: &Outcome,
    also_unsafe: bool,
    history: &mut FixHistory,
) -> bool {
    let mut by_document: BTreeMap<(Arc<str>, usize), Chosen<'_>> = BTreeMap::new();
    let admitted = history.admitted(outcome);
    for fix in admitted.iter().filter_map(|finding| finding.fix.as_ref()) {
        let is_target = set
            .file(&fix.path)
            .is_some_and(|file| file.role == Role::Target);
        let chosen = by_document
            .entry((Arc::clone(&fix.path), fix.document))
            .or_default();
        if is_wanted(fix, also_unsafe) && is_target {
            chosen.offer(fix);
        }
    }
    let mut edits: BTreeMap<Arc<str>, Vec<Edit>> = BTreeMap::new();
    for ((path, document), Chosen { fixes, .. }) in by_document {
        let tree = set
            .document(&path, document)
            .and_then(|document| document.tree());
        if let Some(new) = tree.and_then(|tree| edits_of(tree, &fixes)) {
            history.note(&fixes);
            edits.entry(path).or_default().extend(new);
        }
    }
    let mut changed = false;
    for (path, edits) in edits {
        changed |= replace(set, &path, edits);
    }
    // A round that changes no text is the last one: its fixes would be found again forever.
    changed
}

/// The fixes of one document for one round.
#[derive(Default)]
struct Chosen<'f> {
    fixes: Vec<&'f Fix>,
    routes: RouteSet,
}

impl<'f> Chosen<'f> {
    /// Adds a fix unless it changes a field within a field that another fix changes, or the other way round.
    fn offer(&mut self, fix: &'f Fix) {
        let mut routes = fix.changes.iter().map(Change::route);
        if !routes.any(|route| self.routes.overlaps(route)) {
            self.fixes.push(fix);
            for change in &fix.changes {
                self.routes.insert(change.route());
            }
        }
    }
}

/// How often a document is parsed again in one round to find the fixes that can be combined.
const ATTEMPTS: usize = 100;

/// Returns the edits of as many fixes as can be combined, in order. The next round applies the remaining fixes.
fn edits_of(tree: &Tree, fixes: &[&Fix]) -> Option<Vec<Edit>> {
    if fixes.iter().all(|fix| fix.changes.is_empty()) {
        return comment_edits(fixes);
    }
    let mut edits = None;
    accepted(fixes.len(), ATTEMPTS, |good, group| {
        // The changes are in the order of the findings, independent of the order of the attempts.
        let indexes: BTreeSet<usize> = good.iter().chain(group).copied().collect();
        let combined = indexes.into_iter().filter_map(|at| fixes.get(at));
        let changes: Vec<_> = combined.flat_map(|fix| fix.changes.clone()).collect();
        let applied = yaml::apply(tree, &changes).ok();
        let is_accepted = applied.is_some();
        edits = applied.or(edits.take());
        is_accepted
    });
    edits
}

/// Returns edits of comments, which were verified one by one, without those that overlap an earlier one.
fn comment_edits(fixes: &[&Fix]) -> Option<Vec<Edit>> {
    let mut edits: Vec<Edit> = Vec::new();
    // The spans do not overlap, so a new span can only overlap the one before it.
    let mut taken: BTreeSet<(usize, usize)> = BTreeSet::new();
    for edit in fixes.iter().flat_map(|fix| &fix.edits) {
        let span = edit.span;
        let before = taken.range(..(span.end, 0)).next_back();
        if before.is_none_or(|(_, end)| *end <= span.start) {
            taken.insert((span.start, span.end));
            let text = edit.text.clone();
            edits.push(Edit { span, text });
        }
    }
    (!edits.is_empty()).then_some(edits)
}

/// Applies edits to a file, and returns whether its text has changed.
pub(super) fn replace(set: &mut SourceSet, path: &str, mut edits: Vec<Edit>) -> bool {
    edits.sort_by_key(|edit| edit.span);
    let Some(file) = set.file_mut(path) else {
        return false;
    };
    let text = splice(&file.text, &edits);
    if *file.text == *text {
        return false;
    }
    *file = file.with_text(text.into());
    true
}

/// Returns whether both parsers read the same values before and after the edits of a document.
pub(super) fn keeps_meaning(file: &SourceFile, segment: Span, edits: &[Edit]) -> bool {
    if !edits.iter().all(|edit| segment.contains(edit.span)) {
        return false;
    }
    let (before, after) = splice_segment(&file.text, segment, edits);
    let [before, after] = [before, &after].map(|text| text.trim_start_matches('\u{feff}'));
    verify::verify(before, &[], after).is_ok()
}

/// Returns the indexes of the items that `accepts` accepts. Items are tried in groups; a rejected group is split in half.
///
/// `accepts` receives the indexes that are already accepted, and those of the group. At most `attempts` groups are tried,
/// because an attempt parses a whole document, and the author of the document must not choose how often. The remaining
/// items are not accepted.
pub(super) fn accepted(
    count: usize,
    mut attempts: usize,
    mut accepts: impl FnMut(&[usize], &[usize]) -> bool,
) -> Vec<usize> {
    let mut good: Vec<usize> = Vec::with_capacity(count);
    let mut waiting: Vec<Vec<usize>> = vec![(0..count).collect()];
    while let Some(group) = waiting.pop() {
        let Some(left) = attempts.checked_sub(1).filter(|_| !group.is_empty()) else {
            continue;
        };
        attempts = left;
        if accepts(&good, &group) {
            good.extend(group);
        } else if group.len() > 1 {
            let (front, back) = group.split_at(group.len() / 2);
            // The front half is tried first, so it is pushed last.
            waiting.push(back.to_vec());
            waiting.push(front.to_vec());
        }
    }
    good
}

/// The findings of all rounds. A finding whose location has changed is the same.
#[derive(Debug)]
pub(super) struct FoundFindings {
    first: BTreeMap<Key, usize>,
    /// The greatest number of equal findings in a round.
    most: BTreeMap<Key, usize>,
}

impl FoundFindings {
    /// Creates the record from the findings before the first fix.
    pub(super) fn new(first: &Outcome) -> Self {
        let first = counts(first);
        Self {
            most: first.clone(),
            first,
        }
    }

    /// Adds the findings after a round, some of which its fixes may have revealed.
    pub(super) fn add(&mut self, outcome: &Outcome) {
        for (key, count) in counts(outcome) {
            let most = self.most.entry(key).or_default();
            *most = count.max(*most);
        }
    }

    /// Returns how many findings `last` no longer contains. In a file without changes, only those before the first fix
    /// count: a fix that was reverted has revealed the others.
    pub(super) fn fixed(&self, last: &Outcome, changed: &[Changed]) -> usize {
        let changed: BTreeSet<&Arc<str>> = changed.iter().map(|file| &file.path).collect();
        let remaining = counts(last);
        let fixed = self.most.iter().map(|(key, most)| {
            let found = match changed.contains(&key.0) {
                true => *most,
                false => self.first.get(key).copied().unwrap_or_default(),
            };
            found.saturating_sub(remaining.get(key).copied().unwrap_or_default())
        });
        fixed.sum()
    }
}

fn counts(outcome: &Outcome) -> BTreeMap<Key, usize> {
    let mut counts = BTreeMap::new();
    for finding in &outcome.findings {
        *counts.entry(key(finding)).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_attempts_find_the_rejected_items() {
        let mut attempts = 0;
        let good = accepted(1_000, 100, |_, group| {
            attempts += 1;
            !group.contains(&3) && !group.contains(&700)
        });
        assert_eq!(good.len(), 998);
        assert!(!good.contains(&3) && !good.contains(&700));
        assert!(attempts < 45, "{attempts}");
    }

    #[test]
    fn earlier_items_are_preferred() {
        // 1 and 2 cannot be combined.
        let good = accepted(4, 100, |good, group| {
            let all = || good.iter().chain(group);
            !(all().any(|at| *at == 1) && all().any(|at| *at == 2))
        });
        assert_eq!(good, [0, 1, 3]);
    }

    #[test]
    fn attempts_are_limited() {
        let mut attempts = 0;
        let good = accepted(1_000, 10, |_, _| {
            attempts += 1;
            false
        });
        assert_eq!((good.len(), attempts), (0, 10));
    }
}
