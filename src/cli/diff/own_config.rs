//! The configuration file of the first state.

use meshprobe_tree::filesystem::FileSystem;
use meshprobe_tree::source::Input;

use super::super::args::DiffArgs;
use super::super::config::{LoadedConfig, load_config};
use super::super::input::Run;
use super::super::session::Session;
use super::super::stop::Stop;

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
