//! Loads the two states of a comparison.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshprobe_tree::filesystem::Kind;
use meshprobe_tree::source::paths::folder;
use meshprobe_tree::source::{Content, Document, SourceSet, shown_path};

use super::super::args::{Common, DiffArgs};
use super::super::input::{RenderFallback, Run, prepare, print_files};
use super::super::session::Session;
use super::super::stop::Stop;
use super::changed_facts::{ChangedFacts, WhatIf};
use super::loaded::{Loaded, States, judged};
use super::rejected::reject_missing_paths;
use super::revisions;
use meshprobe_engine::diff::is_hidden;
use meshprobe_engine::engine::rendered;

/// Reads both states, and predicts them.
///
/// # Errors
/// An option, a path or a revision is invalid or cannot be read.
pub(super) fn load(session: &Session, args: &DiffArgs) -> Result<States, Stop> {
    if let Some(what_if) = WhatIf::parse(args)? {
        return changed_facts(session, args, &what_if);
    }
    let names_revision = args.since.is_some() || args.until.is_some() || args.staged;
    match args.common.paths.as_slice() {
        [before, after] if !names_revision => trees(session, args, before, after),
        _ => revisions::load(session, args),
    }
}

/// Predicts one tree with two sets of facts. The files are read once.
fn changed_facts(session: &Session, args: &DiffArgs, what_if: &WhatIf) -> Result<States, Stop> {
    let name = |text: &Option<String>| match text {
        Some(text) => format!("the tree with `{text}`"),
        None => "the tree".to_owned(),
    };
    let (from, to) = (&what_if.from, &what_if.to);
    let run = Arc::new(read(session, &args.common)?);
    what_if.reject_other_meshes(&run.layer)?;
    let renderings = run.on_threads(session, || rendered(&run.set, None));
    let load = |facts: &ChangedFacts| {
        let layer = what_if.over(facts.clone(), run.layer.clone());
        let files = (Arc::clone(&run), renderings.as_deref());
        judged(session, args, files, layer, (name(&facts.text), ""))
    };
    let (before, after) = (load(from)?, load(to)?);
    what_if.reject_empty_selection(&after.state)?;
    Ok(States {
        what_if: Some(what_if.clone()),
        ..States::new(before, after)
    })
}

/// Compares two trees, or two rendered files. Neither reads facts from the repository around it, which may contain
/// both.
fn trees(session: &Session, args: &DiffArgs, before: &Path, after: &Path) -> Result<States, Stop> {
    if [before, after].iter().all(|path| path.as_os_str() == "-") {
        return Err(Stop::usage("standard input (`-`) can be read only once"));
    }
    reject_missing_paths(&args.common.paths, session.directory()?)?;
    let load = |path: &Path| -> Result<_, Stop> {
        let common = Common {
            paths: vec![path.to_path_buf()],
            no_context: true,
            rejects_empty_stdin: true,
            ..args.common.clone()
        };
        let run = read(session, &common)?;
        let (layer, name) = (run.layer.clone(), format!("`{}`", path.display()));
        let note = is_empty(&run.set).then(|| empty_note(&name));
        let files = (run.into(), None);
        let loaded = judged(session, args, files, layer, (name, &root(path)))?;
        Ok((loaded, note))
    };
    let ((before, empty_before), (after, empty_after)) = (load(before)?, load(after)?);
    let (old, new) = (chart_files(&before), chart_files(&after));
    let paths = old.keys().chain(new.keys());
    let other_files = paths.filter(|path| old.get(*path) != new.get(*path));
    Ok(States {
        other_files: other_files.cloned().collect(),
        notes: empty_before.into_iter().chain(empty_after).collect(),
        are_trees: true,
        ..States::new(before, after)
    })
}

/// Returns the files of all charts of a tree, by their paths relative to it, with hashes of their contents.
fn chart_files(loaded: &Loaded) -> BTreeMap<String, u64> {
    let (files, state) = (&loaded.run.request.filesystem, &loaded.state);
    let mut found = BTreeMap::new();
    for chart in &loaded.run.set.files {
        let folder = folder(&chart.path);
        if chart.path.get(folder.len()..) != Some("Chart.yaml") {
            continue;
        }
        let real = chart.resolved_location().and_then(Path::parent);
        let mut pending: Vec<PathBuf> = real.map(Path::to_path_buf).into_iter().collect();
        while let Some(next) = pending.pop() {
            for entry in files.entries(&next).into_iter().flatten().flatten() {
                let path = next.join(&entry.name);
                let below = real.and_then(|real| path.strip_prefix(real).ok());
                let shown = below.map(|below| shown_path(below, Path::new("")));
                match (entry.kind, shown) {
                    _ if is_hidden(&entry.name.to_string_lossy()) => {}
                    (Kind::Folder, _) => pending.push(path),
                    (Kind::File, Some(shown)) => {
                        let mut hasher = DefaultHasher::new();
                        files.read_resolved(&path).ok().hash(&mut hasher);
                        let shown = state.relative(&format!("{folder}{shown}"));
                        found.insert(shown, hasher.finish());
                    }
                    _ => {}
                }
            }
        }
    }
    found
}

/// Returns whether a tree contains nothing but empty documents.
fn is_empty(set: &SourceSet) -> bool {
    let is_nothing = |document: &Document| matches!(document.content, Content::Empty);
    let mut files = set.targets();
    files.all(|file| file.fault.is_none() && file.documents.iter().all(is_nothing))
}

/// Returns the note about an empty tree: a failed rendering would otherwise look like removed workloads.
fn empty_note(name: &str) -> String {
    format!("{name} contains no objects; if it was rendered, check whether the command failed")
}

/// Returns the path of a tree as findings show it, without `/` at the end.
fn root(path: &Path) -> String {
    let shown = path
        .to_string_lossy()
        .replace(std::path::MAIN_SEPARATOR, "/");
    let shown = shown.trim_end_matches('/');
    shown.strip_prefix("./").unwrap_or(shown).to_owned()
}

fn read(session: &Session, common: &Common) -> Result<Run, Stop> {
    let run = prepare(session, common, RenderFallback::Files, None)?;
    print_files(session, &run.set, common);
    Ok(run)
}
