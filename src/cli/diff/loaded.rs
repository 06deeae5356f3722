//! A state of a comparison: its files, its configuration, and its predictions.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use meshprobe_mesh::settings::{FailOn, Layer, Mesh, Settings, Version};
use meshprobe_tree::filesystem::FileSystem;
use meshprobe_tree::git::ChangedPaths;
use meshprobe_tree::source::Input;

use super::super::args::DiffArgs;
use super::super::config::{LoadedConfig, load_config};
use super::super::input::Run;
use super::super::session::Session;
use super::super::stop::Stop;
use super::changed_facts::WhatIf;
use meshprobe_engine::diff::State;
use meshprobe_engine::engine::{AnalysisRequest, Exit, Rendering, UnknownEnvironments, rendered};

/// The two states.
pub(super) struct States {
    pub(super) before: Loaded,
    pub(super) after: Loaded,
    /// The configuration file, if the states have different facts in it.
    pub(super) changed_config: Option<String>,
    /// The second state with the overrides of the first one, if its own ones differ.
    pub(super) without_overrides: Option<State>,
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

impl States {
    /// Returns states that differ in nothing but their own files and settings.
    pub(super) fn new(before: Loaded, after: Loaded) -> Self {
        Self {
            before,
            after,
            changed_config: None,
            without_overrides: None,
            what_if: None,
            notes: Vec::new(),
            are_trees: false,
            is_own_base: false,
            changed_paths: ChangedPaths::default(),
            other_files: BTreeSet::new(),
            repository: None,
        }
    }
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
