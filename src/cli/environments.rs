//! Errors about the names of environments.

use crate::engine::UnknownEnvironments;
use crate::settings::most_similar;

use super::stop::Stop;

/// Rejects names of `--overlay` that no environment has.
///
/// # Errors
/// There is such a name.
pub(super) fn reject_unknown_environments(found: Option<&UnknownEnvironments>) -> Result<(), Stop> {
    let Some((given, known)) = found.and_then(|found| Some((found.given.first()?, &found.known)))
    else {
        return Ok(());
    };
    let similar = most_similar(given, known.iter().map(String::as_str));
    let similar = similar.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
    let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    let help = if names.is_empty() {
        "the files do not contain several overlays or clusters".to_owned()
    } else {
        format!("the environments are {}", names.join(", "))
    };
    let message = format!("unknown environment `{given}` for `--overlay`{similar}");
    Err(Stop::usage(message).help(help))
}
