//! A state of a comparison: its files and its predictions.

use std::path::PathBuf;
use std::sync::Arc;

use crate::diff::State;
use crate::engine::{Exit, RenderedOverlays, UnknownEnvironments};
use crate::git::ChangedPaths;
use crate::settings::{FailOn, Layer, Mesh, Version};

use super::super::args::DiffArgs;
use super::super::input::Run;
use super::super::session::Session;
use super::super::stop::Stop;
use super::changed_facts::WhatIf;

/// The two states.
pub(super) struct States {
    pub(super) before: Loaded,
    pub(super) after: Loaded,
    /// The option that makes the difference, if both states have the same files.
    pub(super) changed_fact: Option<String>,
    /// The configuration file, if the states have different facts in it.
    pub(super) changed_config: Option<String>,
    /// Whether the states differ in nothing but the release of the mesh.
    pub(super) only_release: bool,
    /// The facts of `--from` and `--to`.
    pub(super) what_if: Option<WhatIf>,
    /// What could not be compared.
    pub(super) notes: Vec<String>,
    /// Whether two trees or files are compared with each other.
    pub(super) are_trees: bool,
    /// The paths that may differ between two revisions.
    pub(super) changed_paths: ChangedPaths,
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
/// A memory limit left something out, a rendering failed, or meshprobe panicked.
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
    (run, rendered): (Arc<Run>, &RenderedOverlays<'_>),
    mut layer: Layer,
    (name, root): (String, &str),
) -> Result<Loaded, Stop> {
    layer.only_environments.extend(args.environments.names());
    let settings = layer.resolved(FailOn::default());
    let (state, unknown_environments) =
        run.on_threads(session, || State::of(&run.set, rendered, &settings, root));
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
