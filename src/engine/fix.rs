//! Applies fixes until there is nothing left to apply.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::finding::{Applicability, Finding, Fix};
use crate::settings::Settings;
use crate::source::{Role, SourceSet};
use crate::yaml::{self, Change, Edit, Tree};

use super::changed::Changed;
use super::check::{Outcome, check};
use super::halving::accepted;
use super::route_set::RouteSet;
use super::touched::{Touched, key};
use super::write::WriteFailure;

/// Fixes may uncover others, but never without end.
const MAX_ROUNDS: usize = 20;

/// What is left after fixing, and what was done.
#[derive(Debug)]
pub struct Fixed {
    /// The findings that remain, with their places in the fixed text.
    pub outcome: Outcome,
    /// The fixed files.
    pub set: SourceSet,
    /// The files whose text has changed.
    pub changed: Vec<Changed>,
    /// How many findings are gone; one fix may cure several.
    pub cured: usize,
    /// Rules whose fixes undo each other without end: the files that they fix stay as they were.
    pub unsettled: Vec<&'static str>,
}

impl Fixed {
    /// Takes back what could not be written: those files stay as they were, and so do their
    /// findings.
    #[must_use]
    pub fn without(
        mut self,
        failures: &[WriteFailure],
        original: &SourceSet,
        settings: &Settings,
    ) -> Self {
        for failure in failures {
            let old = original.file(&failure.path);
            if let (Some(old), Some(new)) = (old, self.set.file_mut(&failure.path)) {
                *new = old.clone();
            }
        }
        self.outcome = check(&self.set, settings);
        self.cured = cured(&check(original, settings), &self.outcome);
        self.changed = Changed::between(original, &self.set);
        self
    }
}

/// Applies safe fixes, and unsafe ones on demand, to the text in memory; nothing is written.
#[must_use]
pub fn fix(original: &SourceSet, settings: &Settings, also_unsafe: bool) -> Fixed {
    fix_with(original, also_unsafe, |set| check(set, settings))
}

fn fix_with(
    original: &SourceSet,
    also_unsafe: bool,
    check: impl Fn(&SourceSet) -> Outcome,
) -> Fixed {
    let mut set = original.clone();
    let first = check(&set);
    let mut outcome = first.clone();
    let mut unsettled = Vec::new();
    let mut touched = Touched::new(&first);
    for round in 0..=MAX_ROUNDS {
        let mut next = set.clone();
        if !apply_round(&mut next, &outcome, also_unsafe, &mut touched) {
            break;
        }
        if round == MAX_ROUNDS {
            unsettled = give_up(original, &mut set, &next, &outcome, also_unsafe);
        } else {
            set = next;
        }
        outcome = check(&set);
    }
    Fixed {
        changed: Changed::between(original, &set),
        cured: cured(&first, &outcome),
        outcome,
        set,
        unsettled,
    }
}

/// Takes back the files that another round would change again; returns the rules that would.
fn give_up(
    original: &SourceSet,
    set: &mut SourceSet,
    next: &SourceSet,
    outcome: &Outcome,
    also_unsafe: bool,
) -> Vec<&'static str> {
    let restless: BTreeSet<Arc<str>> = Changed::between(set, next)
        .into_iter()
        .map(|file| file.path)
        .collect();
    for path in &restless {
        if let (Some(old), Some(new)) = (original.file(path), set.file_mut(path)) {
            *new = old.clone();
        }
    }
    let guilty = outcome.findings.iter().filter(|finding| {
        let fix = finding.fix.as_ref();
        fix.is_some_and(|fix| restless.contains(&fix.path) && is_wanted(fix, also_unsafe))
    });
    let rules: BTreeSet<&'static str> = guilty.map(|finding| finding.rule).collect();
    rules.into_iter().collect()
}

const fn is_wanted(fix: &Fix, also_unsafe: bool) -> bool {
    match fix.applicability {
        Applicability::Safe => true,
        Applicability::Unsafe => also_unsafe,
        Applicability::DisplayOnly => false,
    }
}

/// How many findings of the one outcome the other no longer has, wherever they have moved to.
fn cured(before: &Outcome, after: &Outcome) -> usize {
    let mut left: BTreeMap<_, usize> = BTreeMap::new();
    for finding in &after.findings {
        *left.entry(key(finding)).or_default() += 1;
    }
    let is_gone = |finding: &&Finding| match left.get_mut(&key(finding)) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    before.findings.iter().filter(is_gone).count()
}

/// Applies what can be applied at once; tells whether that changed anything.
fn apply_round(
    set: &mut SourceSet,
    outcome: &Outcome,
    also_unsafe: bool,
    touched: &mut Touched,
) -> bool {
    let mut by_document: BTreeMap<(Arc<str>, usize), Chosen<'_>> = BTreeMap::new();
    let admitted = touched.admitted(outcome);
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
            touched.note(&fixes);
            edits.entry(path).or_default().extend(new);
        }
    }
    let mut changed = false;
    for (path, edits) in edits {
        changed |= replace(set, &path, edits);
    }
    // Edits that leave the text as it is would be found again for ever.
    changed
}

/// The fixes of one document for one round.
#[derive(Default)]
struct Chosen<'f> {
    fixes: Vec<&'f Fix>,
    routes: RouteSet,
}

impl<'f> Chosen<'f> {
    /// Takes a fix unless it changes something inside of what another one changes.
    fn offer(&mut self, fix: &'f Fix) {
        // What adds a document goes alone: its bytes are those of the text as it is.
        let is_alone = self.fixes.first().is_some_and(|first| first.adds.is_some());
        let may_join = fix.adds.is_none() || self.fixes.is_empty();
        let mut routes = fix.changes.iter().map(Change::route);
        if !is_alone && may_join && !routes.any(|route| self.routes.overlaps(route)) {
            self.fixes.push(fix);
            for change in &fix.changes {
                self.routes.insert(change.route());
            }
        }
    }
}

/// How many times a document is read again in one round to find the fixes that go together.
const ATTEMPTS: usize = 100;

/// The edits of all fixes together; where they do not go together, of as many as do, in their
/// order. What is left waits for the next round.
fn edits_of(tree: &Tree, fixes: &[&Fix]) -> Option<Vec<Edit>> {
    if fixes.iter().all(|fix| fix.changes.is_empty()) || fixes.iter().any(|fix| fix.adds.is_some())
    {
        return comment_edits(fixes);
    }
    let mut edits = None;
    accepted(fixes.len(), ATTEMPTS, |good, group| {
        // In the order of the findings, whatever is tried first.
        let places: BTreeSet<usize> = good.iter().chain(group).copied().collect();
        let together = places.into_iter().filter_map(|at| fixes.get(at));
        let changes: Vec<_> = together.flat_map(|fix| fix.changes.clone()).collect();
        let found = yaml::apply(tree, &changes).ok();
        let is_good = found.is_some();
        edits = found.or(edits.take());
        is_good
    });
    edits
}

/// Edits that are taken as bytes, proven one by one; each line goes once.
fn comment_edits(fixes: &[&Fix]) -> Option<Vec<Edit>> {
    let mut edits: Vec<Edit> = Vec::new();
    // No two of them overlap, so that only the one before can meet the next.
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

/// Gives the file its new text; tells whether that is another text.
pub(super) fn replace(set: &mut SourceSet, path: &str, mut edits: Vec<Edit>) -> bool {
    edits.sort_by_key(|edit| edit.span);
    let Some(file) = set.file_mut(path) else {
        return false;
    };
    let text = yaml::splice(&file.text, &edits);
    if *file.text == *text {
        return false;
    }
    *file = file.with_text(text.into());
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{FileEdit, Label, Severity};
    use crate::yaml::{Change, Route, Span, Value};

    use super::super::place_fixes::place_fixes;

    const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a # why\n  labels: {b: c}\n";

    fn finding(rule: &'static str, changes: Vec<Change>) -> Finding {
        let label = Label {
            path: "a.yaml".into(),
            span: Span::empty(0),
            message: String::new(),
        };
        let mut finding = Finding::new(rule, Severity::Warning, label, String::new());
        finding.fix = Some(Fix {
            title: "do it".into(),
            applicability: Applicability::Safe,
            path: "a.yaml".into(),
            document: 0,
            changes,
            adds: None,
            edits: Vec::new(),
        });
        finding
    }

    fn set(keys: &[&'static str], value: &str) -> Change {
        let route = Route::keys(keys);
        Change::Set {
            route,
            value: Value::Str(value.to_owned()),
        }
    }

    fn remove(keys: &[&'static str]) -> Change {
        Change::Remove {
            route: Route::keys(keys),
        }
    }

    fn fixed(findings: impl Fn(&str) -> Vec<Finding>) -> Fixed {
        fix_with(&SourceSet::from_text("a.yaml", POD), false, |set| Outcome {
            findings: findings(&set.files[0].text),
            ..Outcome::default()
        })
    }

    #[test]
    fn fixes_that_overlap_take_turns() {
        // The one renames what the other takes away: the first of them goes first.
        let done = fixed(|text| {
            let mut found = Vec::new();
            if text.contains("b: c") {
                found.push(finding("one", vec![set(&["metadata", "labels", "b"], "d")]));
            }
            if text.contains("labels") {
                found.push(finding("two", vec![remove(&["metadata", "labels"])]));
            }
            if text.contains("name: a") {
                found.push(finding("three", vec![set(&["metadata", "name"], "z")]));
            }
            found
        });
        let text = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: z # why\n";
        assert_eq!(&*done.set.files[0].text, text);
        assert_eq!((done.cured, done.unsettled.len()), (3, 0));
    }

    #[test]
    fn fixes_that_undo_each_other_leave_the_file_alone() {
        let done = fixed(|text| {
            let mut found = vec![finding("to-a", vec![set(&["metadata", "name"], "a")])];
            if text.contains("name: a") {
                found.insert(0, finding("to-b", vec![set(&["metadata", "name"], "b")]));
            }
            found
        });
        assert_eq!(&*done.set.files[0].text, POD);
        assert!(done.changed.is_empty());
        assert_eq!(done.unsettled, ["to-a", "to-b"]);
    }

    #[test]
    fn what_a_fix_uncovers_does_not_undo_it() {
        let done = fixed(|text| {
            let (rule, to) = if text.contains("name: a") {
                ("to-b", "b")
            } else {
                ("to-a", "a")
            };
            vec![finding(rule, vec![set(&["metadata", "name"], to)])]
        });
        assert!(done.set.files[0].text.contains("name: b # why"));
        assert_eq!(done.outcome.findings.len(), 1);
    }

    #[test]
    fn a_fix_that_breaks_the_document_is_not_applied() {
        let set = SourceSet::from_text(
            "a.yaml",
            &format!("# meshprobe: ignore[syntax-error] x\n{POD}"),
        );
        let settings = Settings::default();
        let good = fix(&set, &settings, false);
        assert_eq!(&*good.set.files[0].text, POD);
        let mut broken = finding("break", Vec::new());
        let edit = FileEdit {
            path: "a.yaml".into(),
            span: Span::new(0, POD.len()),
            text: "a: [\n".into(),
        };
        if let Some(fix) = &mut broken.fix {
            fix.edits.push(edit);
        }
        let set = SourceSet::from_text("a.yaml", POD);
        place_fixes(&set, std::slice::from_mut(&mut broken));
        let degree = broken.fix.map(|fix| fix.applicability);
        assert_eq!(degree, Some(Applicability::DisplayOnly));
        // A change that does not fit is left out, the others are made.
        let done = fixed(|text| {
            if text.contains("name: a") {
                return vec![
                    finding("bad", vec![set_in_scalar()]),
                    finding("good", vec![super::tests::set(&["metadata", "name"], "z")]),
                ];
            }
            vec![finding("bad", vec![set_in_scalar()])]
        });
        assert!(done.set.files[0].text.contains("name: z # why"));
        assert_eq!(done.unsettled.len(), 0);
    }

    fn set_in_scalar() -> Change {
        set(&["kind", "deeper"], "x")
    }
}
