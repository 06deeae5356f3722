//! Rejects paths and repositories that cannot be compared.

use std::path::{Path, PathBuf};

use hashbrown::HashSet;
use meshprobe_tree::filesystem::canonical;
use meshprobe_tree::git::{Repository, TrackedPaths};
use meshprobe_tree::source::{Content, SourceSet};

use super::super::args::DiffArgs;
use super::super::session::Session;
use super::super::stop::Stop;
use super::loaded::States;
use meshprobe_engine::diff::Comparison;

/// Rejects a path that does not exist.
///
/// # Errors
/// There is such a path. The help names the options if it is a revision.
pub(super) fn reject_missing_paths(paths: &[PathBuf], directory: &Path) -> Result<(), Stop> {
    let is_missing = |path: &&PathBuf| path.as_os_str() != "-" && !directory.join(path).exists();
    let Some(path) = paths.iter().find(is_missing) else {
        return Ok(());
    };
    if let Ok(repository) = Repository::discover(directory) {
        reject_revisions_as_paths(&repository, paths, directory)?;
    }
    let shown = path.display();
    Err(
        Stop::usage(format!("cannot read `{shown}`: no such file or directory"))
            .help("`meshprobe diff BEFORE AFTER` compares two folders or files with each other"),
    )
}

/// Rejects the first path that does not exist and is the name of a revision, or a range such as `main..HEAD`.
///
/// # Errors
/// There is such a path.
pub(super) fn reject_revisions_as_paths(
    repository: &Repository,
    paths: &[PathBuf],
    directory: &Path,
) -> Result<(), Stop> {
    let is_revision = |name: &str| repository.resolve(name).is_ok();
    let revisions_of = |path: &PathBuf| -> Option<Vec<String>> {
        let text = path.to_str()?;
        if directory.join(path).exists() {
            return None;
        }
        let names: Vec<String> = text
            .split("..")
            .map(|name| name.trim_start_matches('.'))
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        let are_revisions =
            matches!(names.len(), 1 | 2) && names.iter().all(|name| is_revision(name));
        are_revisions.then_some(names)
    };
    let found: Vec<String> = paths.iter().filter_map(revisions_of).flatten().collect();
    let (named, options) = match found.as_slice() {
        [] => return Ok(()),
        [since] => (
            format!("`{since}` is a revision"),
            format!("--since {since}"),
        ),
        [since, until, ..] => (
            format!("`{since}` and `{until}` are revisions"),
            format!("--since {since} --until {until}"),
        ),
    };
    Err(Stop::usage(format!("{named}, and `diff` expects paths"))
        .help(format!("compare revisions with `meshprobe diff {options}`")))
}

/// Rejects a repository of which a part is outside of the folders that the run may read. Its revisions contain files that
/// may not be read, or come from there.
pub(super) fn reject_stored_outside(
    session: &Session,
    repository: &Repository,
) -> Result<(), Stop> {
    if repository
        .locations()
        .iter()
        .all(|path| session.may_read(path))
    {
        return Ok(());
    }
    Err(
        Stop::usage("the repository is not completely inside of the directories that may be read")
            .help("grant the folder of the repository and, for a linked working tree, that of its main repository"),
    )
}

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
