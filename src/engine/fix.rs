//! Applies fixes until there is nothing left to apply.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::finding::{Applicability, Finding, Fix};
use crate::settings::Settings;
use crate::source::{Role, SourceSet};
use crate::yaml::{self, Edit, Route, Tree};

use super::changed::Changed;
use super::check::{Outcome, check};
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
    let mut set = original.clone();
    let first = check(&set, settings);
    let mut outcome = first.clone();
    for _ in 0..MAX_ROUNDS {
        if !apply_round(&mut set, &outcome, also_unsafe) {
            break;
        }
        outcome = check(&set, settings);
    }
    let changed = Changed::between(original, &set);
    let cured = cured(&first, &outcome);
    Fixed {
        outcome,
        set,
        changed,
        cured,
    }
}

/// How many findings of the one outcome the other no longer has, wherever they have moved to.
fn cured(before: &Outcome, after: &Outcome) -> usize {
    let key = |finding: &Finding| {
        (
            Arc::clone(&finding.primary.path),
            finding.document,
            finding.rule,
            finding.object.clone(),
            finding.container.clone(),
            finding.field.clone(),
        )
    };
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
fn apply_round(set: &mut SourceSet, outcome: &Outcome, also_unsafe: bool) -> bool {
    let mut by_document: BTreeMap<(Arc<str>, usize), Vec<&Fix>> = BTreeMap::new();
    for fix in outcome
        .findings
        .iter()
        .filter_map(|finding| finding.fix.as_ref())
    {
        let wanted = match fix.applicability {
            Applicability::Safe => true,
            Applicability::Unsafe => also_unsafe,
            Applicability::DisplayOnly => false,
        };
        let is_target = set
            .file(&fix.path)
            .is_some_and(|file| file.role == Role::Target);
        let chosen = by_document
            .entry((Arc::clone(&fix.path), fix.document))
            .or_default();
        if wanted && is_target && !chosen.iter().any(|other| overlap(fix, other)) {
            chosen.push(fix);
        }
    }
    let mut edits: BTreeMap<Arc<str>, Vec<Edit>> = BTreeMap::new();
    for ((path, document), fixes) in by_document {
        let tree = set
            .document(&path, document)
            .and_then(|document| document.tree());
        if let Some(new) = tree.and_then(|tree| edits_of(tree, &fixes)) {
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

/// The edits of all fixes together; of the first that works where they do not go together.
fn edits_of(tree: &Tree, fixes: &[&Fix]) -> Option<Vec<Edit>> {
    let all: Vec<_> = fixes.iter().flat_map(|fix| fix.changes.clone()).collect();
    if all.is_empty() {
        return None;
    }
    if let Ok(edits) = yaml::apply(tree, &all) {
        return Some(edits);
    }
    fixes
        .iter()
        .find_map(|fix| yaml::apply(tree, &fix.changes).ok())
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

/// Two fixes overlap when one changes something inside of what the other changes.
fn overlap(one: &Fix, other: &Fix) -> bool {
    let within = |a: &Route, b: &Route| a.steps().starts_with(b.steps());
    one.changes.iter().any(|mine| {
        other.changes.iter().any(|theirs| {
            within(mine.route(), theirs.route()) || within(theirs.route(), mine.route())
        })
    })
}
