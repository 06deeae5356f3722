//! Errors about the names of environments.

use meshprobe_mesh::settings::most_similar;

use super::args::EnvironmentArgs;
use super::stop::Stop;
use meshprobe_engine::engine::UnknownEnvironments;

/// Rejects names of `--overlay` and `--cluster` that no environment has, or whose environments have no workloads.
///
/// # Errors
/// There is such a name.
pub(super) fn reject_unknown_environments(
    args: &EnvironmentArgs,
    found: Option<&UnknownEnvironments>,
) -> Result<(), Stop> {
    let Some(UnknownEnvironments {
        given,
        without_workloads,
        known,
    }) = found.filter(|found| !found.given.is_empty())
    else {
        return Ok(());
    };
    let help = if known.is_empty() {
        "the files do not contain several overlays or clusters".to_owned()
    } else {
        format!("the environments are {}", quoted(known.iter()))
    };
    let options = args.options_with(given);
    let message = match given.as_slice() {
        several if *without_workloads => format!(
            "no workload of the given files is in {} of {options}",
            quoted(several.iter())
        ),
        [name] => {
            let similar = most_similar(name, known.iter().map(String::as_str));
            let similar =
                similar.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
            format!("unknown environment `{name}` for {options}{similar}")
        }
        several => format!(
            "unknown environments for {options}: {}",
            quoted(several.iter())
        ),
    };
    Err(Stop::usage(message).help(help))
}

fn quoted<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
