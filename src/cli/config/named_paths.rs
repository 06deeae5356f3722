//! The paths that a configuration file names.

use std::path::Path;

use meshprobe_tree::filesystem::FileSystem;
use meshprobe_tree::source::{Input, shown_path};

use super::super::stop::Stop;
use super::file::ConfigFile;

/// Rejects a baseline outside of the repository.
///
/// # Errors
/// The configuration was found in the tree, and its baseline leads out of the repository or cannot be resolved.
pub(super) fn check_baseline(
    file: &ConfigFile,
    baseline: Option<&str>,
    (files, directory): (&FileSystem, &Path),
) -> Result<(), Stop> {
    let (ConfigFile::Found(shown, _, boundary), Some(baseline)) = (file, baseline) else {
        return Ok(());
    };
    let shown = shown_path(shown, directory);
    match files.resolved_within(directory, Path::new(baseline), boundary) {
        Ok(_) => Ok(()),
        Err(why) => Err(Stop::usage(format!(
            "{shown}: cannot read `{baseline}` for `baseline`: {why}"
        ))
        .help(format!(
            "write it with `--write-baseline {baseline}`, or pass it with `--baseline`"
        ))),
    }
}

/// Returns the paths under `context` of a configuration file.
///
/// # Errors
/// The file was found in the tree, and a path leads out of the repository or cannot be resolved.
pub(super) fn context(
    file: &ConfigFile,
    paths: Vec<String>,
    (files, directory): (&FileSystem, &Path),
) -> Result<Vec<Input>, Stop> {
    let (shown, boundary) = match file {
        ConfigFile::Named(_) => {
            return Ok(paths
                .into_iter()
                .map(|path| Input::Path(path.into()))
                .collect());
        }
        ConfigFile::Found(shown, _, boundary) => (shown, boundary),
    };
    let mut found = Vec::new();
    let mut errors = Vec::new();
    for path in paths {
        match files.resolved_within(directory, Path::new(&path), boundary) {
            Ok(real) => found.push(Input::Resolved(real)),
            Err(why) => {
                let shown = shown_path(shown, directory);
                errors.push(format!(
                    "{shown}: cannot read `{path}` for `context`: {why}; pass it with `--context`, \
                     or pass the configuration file with `--config`"
                ));
            }
        }
    }
    if errors.is_empty() {
        Ok(found)
    } else {
        Err(Stop::Usage(errors))
    }
}
