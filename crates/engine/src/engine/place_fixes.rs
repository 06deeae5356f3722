//! Converts the changes of fixes to edits, and verifies all fixes of a document together.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::finding::{Applicability, FileEdit, Finding, Fix};
use meshprobe_tree::source::SourceSet;
use meshprobe_yaml as yaml;
use meshprobe_yaml::{Change, Edit, EditError, Span, Tree};

use super::fix_round::{accepted, keeps_meaning};

#[cfg(debug_assertions)]
use super::planted_panic;

/// How often a document is parsed again to verify its fixes. The remaining fixes are display-only.
const MAX_PROOFS: usize = 100;

/// Computes the edits of the fixes of findings. A fix that cannot be written, or that would change the rest of its
/// document, becomes display-only.
pub(super) fn place_fixes(set: &SourceSet, findings: &mut [Finding]) {
    let mut by_document: BTreeMap<(Arc<str>, usize), Vec<&mut Fix>> = BTreeMap::new();
    // Rendered files are not on disk, so they have no edits.
    let fixes = findings
        .iter_mut()
        .filter_map(|finding| finding.fix.as_mut())
        .filter(|fix| set.file(&fix.path).is_none_or(|file| !file.rendered));
    let targets = set.link_targets();
    for fix in fixes {
        // A link to the file includes its text in another folder, where a change may have another effect.
        if set
            .file(&fix.path)
            .is_some_and(|file| file.shares_text(&targets))
        {
            fix.limit_to(Applicability::display_only_because(
                "a link to the file or its folder uses the text elsewhere too",
            ));
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
        place_changes(tree, fixes);
    }
}

/// Verifies fixes that consist of edits of comments.
fn place_comments(set: &SourceSet, path: &str, document: usize, mut fixes: Vec<&mut Fix>) {
    let document = set.file(path).zip(
        set.document(path, document)
            .filter(|document| !document.encrypted),
    );
    let all: Vec<Vec<Edit>> = fixes.iter().map(|fix| edits_of(fix)).collect();
    let proven = accepted(all.len(), MAX_PROOFS, |_, group| {
        let Some((file, document)) = document else {
            return false;
        };
        let edits = group.iter().filter_map(|at| all.get(*at));
        together(edits)
            .is_some_and(|edits| edits.is_empty() || keeps_meaning(file, document.segment, &edits))
    });
    limit_to_proven(&mut fixes, &proven);
}

fn edits_of(fix: &Fix) -> Vec<Edit> {
    fix.edits
        .iter()
        .map(|edit| Edit {
            span: edit.span,
            text: edit.text.clone(),
        })
        .collect()
}

/// Makes the fixes that are not verified display-only.
fn limit_to_proven(fixes: &mut [&mut Fix], proven: &[usize]) {
    let mut is_proven = vec![false; fixes.len()];
    for at in proven {
        if let Some(is_proven) = is_proven.get_mut(*at) {
            *is_proven = true;
        }
    }
    for (fix, is_proven) in fixes.iter_mut().zip(is_proven) {
        if !is_proven {
            fix.limit_to(Applicability::display_only_because(UNVERIFIED));
        }
    }
}

/// Why a fix whose edits fail the verification is display-only.
const UNVERIFIED: &str = "the edit could not be verified";

/// The edits of fixes with the same changes: many findings of a pod have the same fix.
struct Plan {
    edits: Result<Vec<Edit>, EditError>,
    is_proven: bool,
}

fn place_changes(tree: Option<&Tree>, fixes: Vec<&mut Fix>) {
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
        match plans.get(at) {
            Some(Plan {
                edits: Ok(edits),
                is_proven: true,
            }) => {
                fix.edits = edits
                    .iter()
                    .map(|edit| file_edit(&fix.path, edit))
                    .collect();
            }
            Some(Plan {
                edits: Err(error), ..
            }) => fix.limit_to(Applicability::display_only_because(format!(
                "the document cannot be edited: {error}"
            ))),
            _ => fix.limit_to(Applicability::display_only_because(UNVERIFIED)),
        }
    }
}

fn file_edit(path: &Arc<str>, edit: &Edit) -> FileEdit {
    FileEdit {
        path: Arc::clone(path),
        span: edit.span,
        text: edit.text.clone(),
    }
}

/// Plans each list of changes separately, and verifies those together whose edits do not touch.
fn proven(tree: &Tree, all: &[&[Change]]) -> Vec<Plan> {
    let mut plans: Vec<Plan> = yaml::plan_each(tree, all)
        .into_iter()
        .map(|edits| Plan {
            edits,
            is_proven: false,
        })
        .collect();
    let mut attempts = MAX_PROOFS;
    for group in disjoint_groups(&plans) {
        let good = accepted(group.len(), attempts, |_, tried| {
            attempts = attempts.saturating_sub(1);
            let tried: Vec<usize> = tried
                .iter()
                .filter_map(|at| group.get(*at).copied())
                .collect();
            let edits = tried
                .iter()
                .filter_map(|at| plans.get(*at)?.edits.as_ref().ok());
            let changes: Vec<Change> = tried
                .iter()
                .filter_map(|at| all.get(*at))
                .flat_map(|changes| changes.iter().cloned())
                .collect();
            together(edits).is_some_and(|edits| yaml::verify_edits(tree, &changes, &edits).is_ok())
        });
        for at in good.iter().filter_map(|at| group.get(*at)) {
            if let Some(plan) = plans.get_mut(*at) {
                plan.is_proven = true;
            }
        }
    }
    plans
}

/// Divides the plans into groups within which no two edits touch, by the places of the edits.
fn disjoint_groups(plans: &[Plan]) -> Vec<Vec<usize>> {
    let extent = |plan: &Plan| -> Option<Span> {
        let edits = plan.edits.as_ref().ok()?;
        let start = edits.first().map_or(0, |edit| edit.span.start);
        let end = edits.last().map_or(start, |edit| edit.span.end);
        Some(Span::new(start, end))
    };
    let mut waiting: Vec<(Span, usize)> = plans
        .iter()
        .enumerate()
        .filter_map(|(at, plan)| Some((extent(plan)?, at)))
        .collect();
    waiting.sort_unstable();
    let mut groups = Vec::new();
    while !waiting.is_empty() && groups.len() < MAX_PROOFS {
        let mut end = None;
        let fits = |(span, _): &mut (Span, usize)| {
            let fits = end.is_none_or(|end| end < span.start);
            end = if fits { Some(span.end) } else { end };
            fits
        };
        let group = waiting.extract_if(.., fits);
        groups.push(group.map(|(_, at)| at).collect());
    }
    groups
}

/// Returns all edits in order; `None` if two of them overlap.
fn together<'e>(all: impl Iterator<Item = &'e Vec<Edit>>) -> Option<Vec<Edit>> {
    let mut edits: Vec<Edit> = all.flatten().cloned().collect();
    edits.sort_by_key(|edit| edit.span);
    // Several findings may have the same edit.
    edits.dedup();
    let overlaps = edits
        .iter()
        .zip(edits.iter().skip(1))
        .any(|(edit, next)| next.span.start < edit.span.end);
    (!overlaps).then_some(edits)
}
