//! Loads the two states of a comparison: their files, their configurations and their predictions.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshprobe_engine::diff::{State, is_hidden};
use meshprobe_engine::engine::{AnalysisRequest, Exit, Rendering, UnknownEnvironments, rendered};
use meshprobe_mesh::settings::{FailOn, Layer, Mesh, Settings, Version};
use meshprobe_tree::filesystem::{FileSystem, Kind};
use meshprobe_tree::git::ChangedPaths;
use meshprobe_tree::source::paths::folder;
use meshprobe_tree::source::{Content, Document, Input, SourceSet, shown_path};

use super::changed_facts::{ChangedFacts, WhatIf};
use super::rejected::reject_missing_paths;
use super::revisions;
use crate::cli::args::{Common, DiffArgs};
use crate::cli::config::{LoadedConfig, load_config};
use crate::cli::input::{RenderFallback, Run, prepare, print_files};
use crate::cli::session::Session;
use crate::cli::stop::Stop;

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
        before,
        after,
        changed_fact: Some(what_if.text()),
        changed_config: None,
        without_overrides: None,
        only_release: from.is_only_release() && to.is_only_release(),
        what_if: Some(what_if.clone()),
        notes: Vec::new(),
        are_trees: false,
        is_own_base: false,
        changed_paths: ChangedPaths::default(),
        other_files: BTreeSet::new(),
        repository: None,
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
        before,
        after,
        changed_fact: None,
        changed_config: None,
        without_overrides: None,
        only_release: false,
        what_if: None,
        notes: empty_before.into_iter().chain(empty_after).collect(),
        are_trees: true,
        is_own_base: false,
        changed_paths: ChangedPaths::default(),
        repository: None,
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

/// The two states.
pub(super) struct States {
    pub(super) before: Loaded,
    pub(super) after: Loaded,
    /// The option that makes the difference, if both states have the same files.
    pub(super) changed_fact: Option<String>,
    /// The configuration file, if the states have different facts in it.
    pub(super) changed_config: Option<String>,
    /// The second state with the overrides of the first one, if its own ones differ.
    pub(super) without_overrides: Option<State>,
    /// Whether the states differ in nothing but the release of the mesh.
    pub(super) only_release: bool,
    /// The facts of `--from` and `--to`.
    pub(super) what_if: Option<WhatIf>,
    /// What could not be compared.
    pub(super) notes: Vec<String>,
    /// Whether two trees or files are compared with each other.
    pub(super) are_trees: bool,
    /// Whether no manifest differs because the base, which the user did not name, is the revision that is compared.
    pub(super) is_own_base: bool,
    /// The paths that may differ between two revisions.
    pub(super) changed_paths: ChangedPaths,
    /// The files that differ, relative to the trees: those that git tracks, or those of charts.
    pub(super) other_files: BTreeSet<String>,
    /// The root of the repository whose revisions are compared.
    pub(super) repository: Option<PathBuf>,
}

/// A state with its files.
pub(super) struct Loaded {
    pub(super) name: String,
    /// The files. Both states may share them.
    pub(super) run: Arc<Run>,
    pub(super) state: State,
    /// The exit code that follows from reading the files.
    pub(super) exit: Exit,
    /// The names of environments in the options that the state does not have.
    pub(super) unknown_environments: Option<UnknownEnvironments>,
    /// The release of Istio that an option or the configuration sets for all pods.
    pub(super) istio_release: Option<Version>,
}

/// The notices because of which a state is not complete, so that its comparison would mean nothing.
const INCOMPLETE: [&str; 4] = [
    "file-left-out",
    "internal-error",
    "not-rendered",
    "overlay-left-out",
];

/// Rejects a state of which a part was left out.
///
/// # Errors
/// A limit left something out, a rendering failed, or meshprobe panicked.
fn reject_incomplete(state: &State, name: &str) -> Result<(), Stop> {
    let mut findings = state.findings.iter();
    let found = findings.find(|finding| INCOMPLETE.contains(&finding.rule.as_str()));
    let Some(finding) = found else {
        return Ok(());
    };
    let path = &finding.primary.path;
    let message = format!("cannot compare {name}: {path}: {}", finding.message);
    Err(Stop::usage(message).help_if_any(finding.help.clone()))
}

/// Predicts and checks the files of a run. A state has a name, and a root to which the paths of identities are
/// relative.
pub(super) fn judged(
    session: &Session,
    args: &DiffArgs,
    (run, renderings): (Arc<Run>, Option<&[Rendering]>),
    layer: Layer,
    (name, root): (String, &str),
) -> Result<Loaded, Stop> {
    let settings = settings(args, layer);
    let state = run.on_threads(session, || {
        let request = AnalysisRequest {
            renderings,
            ..AnalysisRequest::new(&run.set, &settings)
        };
        State::of(&request, root)
    });
    loaded(run, state, &settings, name)
}

/// Predicts and checks the files of two states of one tree, which have names.
pub(super) fn judged_both(
    session: &Session,
    args: &DiffArgs,
    (old, old_name): (Arc<Run>, String),
    (new, new_name): (Arc<Run>, String),
) -> Result<(Loaded, Loaded), Stop> {
    let known = old.on_threads(session, || rendered(&old.set, None));
    let again = new.on_threads(session, || {
        rendered(&new.set, known.as_deref().map(|known| (&old.set, known)))
    });
    let judge = |run: Arc<Run>, renderings: Option<&[Rendering]>, name| {
        let layer = run.layer.clone();
        judged(session, args, (run, renderings), layer, (name, ""))
    };
    let first = judge(Arc::clone(&old), known.as_deref(), old_name)?;
    drop(known);
    Ok((first, judge(new, again.as_deref(), new_name)?))
}

/// Predicts and checks the second state with the overrides of the first one; returns `None` if both have the same.
pub(super) fn judged_without_overrides(
    session: &Session,
    args: &DiffArgs,
    (old, new): (&Run, &Run),
) -> Option<State> {
    let layer = new.layer.clone().with_overrides_of(&old.layer);
    if layer.has_facts_of(&new.layer) {
        return None;
    }
    let settings = settings(args, layer);
    let request = AnalysisRequest::new(&new.set, &settings);
    let (state, _) = new.on_threads(session, || State::of(&request, ""));
    Some(state)
}

fn settings(args: &DiffArgs, mut layer: Layer) -> Settings {
    // A comparison names a changed configuration as a cause.
    layer.configured = None;
    layer.only_environments.extend(args.environments.names());
    layer.resolved(FailOn::default())
}

fn loaded(
    run: Arc<Run>,
    (state, unknown_environments): (State, Option<UnknownEnvironments>),
    settings: &Settings,
    name: String,
) -> Result<Loaded, Stop> {
    reject_incomplete(&state, &name)?;
    let selected = settings.selected.as_ref();
    let istio_release = selected
        .and_then(|selected| selected.mesh_version)
        .or(settings.mesh_version)
        .filter(|_| settings.versioned_mesh() == Mesh::ISTIO);
    Ok(Loaded {
        name,
        exit: run.exit(),
        run,
        state,
        unknown_environments,
        istio_release,
    })
}

/// Returns the configuration of the first state; `None` if its file is broken, because the second state may be the one that
/// repairs it.
pub(super) fn own_config(
    session: &Session,
    args: &DiffArgs,
    files: &FileSystem,
    name: &str,
) -> Result<Option<LoadedConfig>, Stop> {
    match load_config(&args.common, session.directory()?, files) {
        Ok(loaded) => Ok(Some(loaded)),
        Err(stop) => {
            if !args.common.quiet {
                let reason = stop.message();
                session.errln(&format!(
                    "warning: the configuration of {name} is not used, but that of the second state: {reason}"
                ));
            }
            Ok(None)
        }
    }
}

/// Gives the first state the facts of its own configuration file, and returns that file if they differ from those of the
/// second state, or its `context`. Rules and what they ignore are those of the second state, so that a change of them is
/// not a change of the probes.
pub(super) fn use_own_facts(
    args: &DiffArgs,
    old: &mut Run,
    own: LoadedConfig,
    new: &Run,
) -> Option<String> {
    let has_same_context = has_context_of(args, &own, new);
    if own.layer.has_facts_of(&new.layer) && has_same_context {
        return None;
    }
    old.layer = std::mem::take(&mut old.layer).with_facts_of(&own.layer);
    own.shown.or_else(|| new.config.clone())
}

/// Returns whether a configuration names the same paths under `context` as that of a run.
fn has_context_of(args: &DiffArgs, own: &LoadedConfig, run: &Run) -> bool {
    let path = |input: &Input| match input {
        Input::Path(path) | Input::Resolved(path) => Some(path.clone()),
        Input::Bytes { .. } | Input::Rendered(_) => None,
    };
    let of_config = run
        .request
        .context
        .len()
        .saturating_sub(args.common.context.len());
    let of_run = run.request.context.iter().take(of_config).map(path);
    own.context.iter().map(path).eq(of_run)
}
