//! Two paths that have nothing in common, and that were probably meant as two parts of one tree.

use std::path::Path;

use hashbrown::HashSet;
use meshprobe_tree::filesystem::canonical;
use meshprobe_tree::git::TrackedPaths;
use meshprobe_tree::source::{Content, SourceSet};

use super::super::args::DiffArgs;
use super::super::session::Session;
use super::super::stop::Stop;
use super::loaded::States;
use crate::diff::Comparison;

/// Rejects two paths that were compared with each other and have no probe in common, if git tracks both: "apps infra"
/// rather names two folders whose changes are wanted.
///
/// # Errors
/// The paths are such paths.
pub(super) fn reject_unrelated_paths(
    session: &Session,
    args: &DiffArgs,
    states: &States,
    comparison: &Comparison,
) -> Result<(), Stop> {
    let [before, after] = args.common.paths.as_slice() else {
        return Ok(());
    };
    let has_probes = [&states.before, &states.after]
        .iter()
        .any(|state| !state.state.probes.is_empty());
    if !states.are_trees || !has_probes || has_pairs(comparison) || have_common_workload(states) {
        return Ok(());
    }
    let directory = session.directory()?;
    if !are_tracked(&directory.join(before), &directory.join(after)) {
        return Ok(());
    }
    let (before, after) = (before.display(), after.display());
    Err(Stop::usage(format!(
        "`{before}` and `{after}` have no probe in common, so that comparing one with the other says nothing"
    ))
    .help(format!(
        "compare both with a revision: `meshprobe diff --since origin/main {before} {after}`"
    )))
}

/// Returns whether a handler exists in both states.
fn has_pairs(comparison: &Comparison) -> bool {
    let mut changes = comparison.changes.iter();
    let is_pair = |states: (Option<_>, Option<_>)| states.0.is_some() && states.1.is_some();
    comparison.unchanged > 0 || changes.any(|change| is_pair(change.probe_states()))
}

/// Returns whether one tree contains the workload of a probe of the other one: its own probes may be removed, or the changes
/// suppressed.
fn have_common_workload(states: &States) -> bool {
    let (before, after) = (&states.before, &states.after);
    [(before, after), (after, before)]
        .into_iter()
        .any(|(own, other)| {
            let names: HashSet<(&str, &str)> = objects(&other.run.set).collect();
            let mut probes = own.state.probes.iter();
            probes.any(|probe| names.contains(&(&*probe.id.kind, &*probe.id.name)))
        })
}

/// Returns the kinds and names of all objects.
fn objects(set: &SourceSet) -> impl Iterator<Item = (&str, &str)> {
    let documents = set.files.iter().flat_map(|file| &file.documents);
    documents.filter_map(|document| {
        let Content::Tree(tree) = &document.content else {
            return None;
        };
        let root = tree.root()?;
        let name = root.get("metadata")?.get("name")?.text()?;
        Some((root.get("kind")?.text()?, name))
    })
}

/// Returns whether git tracks files of both paths, in one repository.
fn are_tracked(before: &Path, after: &Path) -> bool {
    let (Ok(before), Ok(after)) = (canonical(before), canonical(after)) else {
        return false;
    };
    let tracked = TrackedPaths::of(&before).ok().flatten();
    tracked.is_some_and(|tracked| tracked.contains(&before) && tracked.contains(&after))
}
