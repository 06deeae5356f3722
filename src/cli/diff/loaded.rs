//! A state of a comparison: its files and its predictions.

use std::sync::Arc;

use crate::diff::State;
use crate::engine::{Exit, RenderedOverlays};
use crate::settings::{FailOn, Layer, Mesh, Version};

use super::super::args::DiffArgs;
use super::super::environments::reject_unknown_environments;
use super::super::input::Run;
use super::super::session::Session;
use super::super::stop::Stop;

/// The two states.
pub(super) struct States {
    pub(super) before: Loaded,
    pub(super) after: Loaded,
    /// The option that makes the difference, if both states have the same files.
    pub(super) changed_fact: Option<String>,
}

/// A state with its files.
pub(super) struct Loaded {
    pub(super) name: String,
    /// The files. Both states may share them.
    pub(super) run: Arc<Run>,
    pub(super) state: State,
    /// The exit code that follows from reading the files.
    pub(super) exit: Exit,
    /// The release of Istio that an option or the configuration sets for all pods.
    pub(super) istio_release: Option<Version>,
}

/// Predicts and checks the files of a run. A state has a name, and a root to which the paths of identities are relative.
pub(super) fn judged(
    session: &Session,
    args: &DiffArgs,
    (run, rendered): (Arc<Run>, &RenderedOverlays),
    mut layer: Layer,
    (name, root): (String, &str),
) -> Result<Loaded, Stop> {
    layer.only_environments.extend(args.environments.names());
    let settings = layer.resolved(FailOn::default());
    let (state, outcome) =
        run.on_threads(session, || State::of(&run.set, rendered, &settings, root));
    reject_unknown_environments(&args.environments, outcome.unknown_environments.as_ref())?;
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
        istio_release,
    })
}
