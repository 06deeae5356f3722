//! Turns the changes of fixes into bytes, and proves all fixes of a document together.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::finding::{Applicability, FileEdit, Finding, Fix};
use crate::source::SourceSet;
use crate::yaml::{self, Change, Edit, Span, Tree};

use super::addition::addition;
use super::baseline::keeps_meaning;
use super::halving::accepted;
#[cfg(debug_assertions)]
use super::planted_panic;

/// How often a document is read again to prove its fixes; what is not proven by then is only shown.
const PROOFS: usize = 100;

/// Gives the fixes of findings their bytes. One that cannot be written, or would not leave the rest of its
/// document alone, is only shown.
pub(super) fn place_fixes(set: &SourceSet, findings: &mut [Finding]) {
    let mut by_document: BTreeMap<(Arc<str>, usize), Vec<&mut Fix>> = BTreeMap::new();
    let fixes = findings.iter_mut().filter_map(|one| one.fix.as_mut());
    // Edits are only ever of real files.
    let is_real = |fix: &&mut Fix| set.file(&fix.path).is_none_or(|file| !file.rendered);
    let targets = set.link_targets();
    for fix in fixes.filter(is_real) {
        // The text is read in the folder of a link, too, where a change may have another effect.
        if set
            .file(&fix.path)
            .is_some_and(|file| file.shares_text(&targets))
        {
            fix.applicability = Applicability::DisplayOnly;
            continue;
        }
        let key = (Arc::clone(&fix.path), fix.document);
        by_document.entry(key).or_default().push(fix);
    }
    for ((path, document), fixes) in by_document {
        #[cfg(debug_assertions)]
        planted_panic::trip("fix", &path);
        let (comments, fixes): (Vec<&mut Fix>, Vec<&mut Fix>) = fixes
            .into_iter()
            .partition(|fix| fix.changes.is_empty() && !fix.edits.is_empty());
        place_comments(set, &path, document, comments);
        let tree = set
            .document(&path, document)
            .and_then(|document| document.tree());
        place_changes(set, tree, fixes);
    }
}

/// Proves fixes that are bytes already and mean nothing: of comments.
fn place_comments(set: &SourceSet, path: &str, document: usize, mut fixes: Vec<&mut Fix>) {
    let here = set
        .file(path)
        .zip(set.document(path, document).filter(|one| !one.encrypted));
    let all: Vec<Vec<Edit>> = fixes.iter().map(|fix| edits_of(fix)).collect();
    let proven = accepted(all.len(), PROOFS, |_, group| {
        let Some((file, document)) = here else {
            return false;
        };
        let edits = group.iter().filter_map(|at| all.get(*at));
        together(edits)
            .is_some_and(|edits| edits.is_empty() || keeps_meaning(file, document.segment, &edits))
    });
    keep(&mut fixes, &proven);
}

fn edits_of(fix: &Fix) -> Vec<Edit> {
    let edits = fix.edits.iter();
    edits
        .map(|edit| Edit {
            span: edit.span,
            text: edit.text.clone(),
        })
        .collect()
}

/// Leaves those that are not proven for the reader only.
fn keep(fixes: &mut [&mut Fix], proven: &[usize]) {
    let mut is_proven = vec![false; fixes.len()];
    for at in proven {
        if let Some(one) = is_proven.get_mut(*at) {
            *one = true;
        }
    }
    for (fix, is_proven) in fixes.iter_mut().zip(is_proven) {
        if !is_proven {
            fix.applicability = Applicability::DisplayOnly;
        }
    }
}

/// What several fixes have in common: many findings of a pod ask for one change.
#[derive(Default)]
struct Plan {
    edits: Option<Vec<Edit>>,
    is_proven: bool,
}

fn place_changes(set: &SourceSet, tree: Option<&Tree>, fixes: Vec<&mut Fix>) {
    let changes: Vec<Vec<Change>> = fixes.iter().map(|fix| fix.changes.clone()).collect();
    let mut places: HashMap<&[Change], usize> = HashMap::new();
    let mut distinct: Vec<&[Change]> = Vec::new();
    let plan_of: Vec<usize> = changes
        .iter()
        .map(|changes| {
            *places.entry(changes).or_insert_with(|| {
                distinct.push(changes);
                distinct.len() - 1
            })
        })
        .collect();
    let plans = tree.map_or_else(Vec::new, |tree| proven(tree, &distinct));
    for (fix, at) in fixes.into_iter().zip(plan_of) {
        let plan = plans.get(at).filter(|plan| plan.is_proven);
        match plan.and_then(|plan| plan.edits.as_ref()) {
            Some(edits) => fix.edits = edits.iter().map(|edit| of_file(&fix.path, edit)).collect(),
            None => fix.applicability = Applicability::DisplayOnly,
        }
        add_document(set, fix);
    }
}

fn of_file(path: &Arc<str>, edit: &Edit) -> FileEdit {
    FileEdit {
        path: Arc::clone(path),
        span: edit.span,
        text: edit.text.clone(),
    }
}

fn add_document(set: &SourceSet, fix: &mut Fix) {
    let Some(added) = &fix.adds else { return };
    match addition(set, &fix.path, fix.document, added) {
        Some(edit) => fix.edits.push(edit),
        None => fix.applicability = Applicability::DisplayOnly,
    }
}

/// Plans each list of changes by itself, and proves those together whose edits lie apart.
fn proven(tree: &Tree, all: &[&[Change]]) -> Vec<Plan> {
    let mut plans: Vec<Plan> = yaml::plan_each(tree, all)
        .into_iter()
        .map(|edits| Plan {
            edits: edits.ok(),
            is_proven: false,
        })
        .collect();
    let mut attempts = PROOFS;
    for group in apart(&plans) {
        let good = accepted(group.len(), attempts, |_, tried| {
            attempts = attempts.saturating_sub(1);
            let tried: Vec<usize> = tried
                .iter()
                .filter_map(|at| group.get(*at).copied())
                .collect();
            let edits = tried.iter().filter_map(|at| plans.get(*at)?.edits.as_ref());
            let changes: Vec<Change> = tried
                .iter()
                .filter_map(|at| all.get(*at))
                .flat_map(|changes| changes.iter().cloned())
                .collect();
            together(edits).is_some_and(|edits| yaml::prove(tree, &changes, &edits).is_ok())
        });
        for at in good.iter().filter_map(|at| group.get(*at)) {
            if let Some(plan) = plans.get_mut(*at) {
                plan.is_proven = true;
            }
        }
    }
    plans
}

/// Sorts the plans into groups within which no two edits touch.
fn apart(plans: &[Plan]) -> Vec<Vec<usize>> {
    let extent = |plan: &Plan| -> Option<Span> {
        let edits = plan.edits.as_ref()?;
        let start = edits.first().map_or(0, |edit| edit.span.start);
        Some(Span::new(
            start,
            edits.last().map_or(start, |edit| edit.span.end),
        ))
    };
    let each = plans.iter().enumerate();
    let mut extents: Vec<(Span, usize)> = each
        .filter_map(|(at, plan)| Some((extent(plan)?, at)))
        .collect();
    extents.sort_unstable();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    // The groups by where their last edit ends: the one that ends first takes the next that fits.
    let mut ends: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (span, at) in extents {
        let free = ends.first_entry().filter(|first| *first.key() < span.start);
        let group = match free {
            Some(mut first) => {
                let group = first.get_mut().pop();
                if first.get().is_empty() {
                    first.remove();
                }
                group
            }
            None => None,
        };
        let group = group.unwrap_or_else(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        if let Some(members) = groups.get_mut(group) {
            members.push(at);
        }
        ends.entry(span.end).or_default().push(group);
    }
    groups
}

/// Returns all edits in their order; `None` where two of them overlap.
fn together<'e>(all: impl Iterator<Item = &'e Vec<Edit>>) -> Option<Vec<Edit>> {
    let mut edits: Vec<Edit> = all.flatten().cloned().collect();
    edits.sort_by_key(|edit| edit.span);
    // Several findings may ask for the same edit.
    edits.dedup();
    let mut pairs = edits.iter().zip(edits.iter().skip(1));
    let overlaps = pairs.any(|(one, next)| next.span.start < one.span.end);
    (!overlaps).then_some(edits)
}
