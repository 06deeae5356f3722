//! Applies the fixes of one round: those that can be combined.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meshprobe_mesh::finding::{Applicability, Fix};
use meshprobe_tree::source::{Role, SourceSet};
use meshprobe_yaml::{self as yaml, Change, Edit, Tree};

use super::fix_history::FixHistory;
use super::halving::accepted;
use super::outcome::Outcome;
use super::route_set::RouteSet;
use super::text_edits::replace;

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
        // A fix that adds a document is applied alone, because its edit applies to the current text.
        let is_alone = self
            .fixes
            .first()
            .is_some_and(|first| first.added_document.is_some());
        let may_join = fix.added_document.is_none() || self.fixes.is_empty();
        let mut routes = fix.changes.iter().map(Change::route);
        if !is_alone && may_join && !routes.any(|route| self.routes.overlaps(route)) {
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
    if fixes.iter().all(|fix| fix.changes.is_empty())
        || fixes.iter().any(|fix| fix.added_document.is_some())
    {
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
