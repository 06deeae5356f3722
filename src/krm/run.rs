//! Runs the function, or the legacy plugin.

use std::path::Path;

use meshprobe_mesh::settings::Layer;

use super::answer::{Answer, ConfigFile};
use super::list::List;
use super::load::load;
use super::{function, plugin};

/// Runs the function on the bytes of standard input. Paths in its configuration are relative to `directory`. With a
/// configuration file, input and output are plain streams of documents.
///
/// Source of the two protocols: kustomize 5.8, "KRM Functions Specification" and exec plugins.
#[must_use]
pub fn run(input: &[u8], directory: &Path, config: Option<ConfigFile<'_>>) -> Answer {
    let result = match config {
        Some(config) if !is_list(input, directory) => plugin::answer(input, directory, config),
        // The arguments of a function have a meaning for its caller only.
        _ => function::answer(input, directory),
    };
    result.unwrap_or_else(|messages| Answer::failure(&messages))
}

fn is_list(input: &[u8], directory: &Path) -> bool {
    load(input, directory, &Layer::default()).is_ok_and(|set| List::of(&set).is_ok())
}
