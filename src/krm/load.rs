//! Reads standard input and the files of the configuration.

use std::path::Path;

use meshprobe_mesh::settings::Layer;
use meshprobe_tree::source::{Fault, Input, Request, SourceSet, boundary, resolved_within};

use super::list::NAME;
use crate::engine;

/// Reads standard input and the files under `context` of the configuration.
///
/// # Errors
/// meshprobe panicked on standard input, or a file cannot be read.
pub(super) fn load(
    input: &[u8],
    directory: &Path,
    layer: &Layer,
) -> Result<SourceSet, Vec<String>> {
    let boundary = boundary(directory);
    let context = layer.context.iter().map(|path| {
        let place = resolved_within(directory, Path::new(path), &boundary);
        let place =
            place.map_err(|why| vec![format!("cannot read `{path}` for `context`: {why}")])?;
        Ok(Input::Resolved(place))
    });
    let context = context.collect::<Result<_, Vec<String>>>()?;
    let set = engine::load(&Request {
        targets: vec![Input::Bytes {
            name: NAME.into(),
            bytes: input.into(),
            disk_path: None,
        }],
        context,
        working_directory: directory.to_path_buf(),
        ..Request::default()
    });
    if let Some(Fault::Panicked(panic)) = set.file(NAME).and_then(|file| file.fault.as_ref()) {
        let help = engine::how_to_report("standard input");
        return Err(vec![format!(
            "meshprobe panicked on standard input: {panic}; {help}"
        )]);
    }
    let mut unread = engine::unread_paths(&set);
    // An unreadable list has a message of its own.
    unread.retain(|path| **path != *NAME);
    if unread.is_empty() {
        return Ok(set);
    }
    let messages = unread
        .iter()
        .map(|path| format!("cannot read `{path}` for `context`"));
    Err(messages.collect())
}
