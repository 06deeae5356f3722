//! Combines the command line with the configuration file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshprobe_mesh::settings::{ConfiguredFacts, Layer};
use meshprobe_tree::filesystem::FileSystem;
use meshprobe_tree::source::{Input, shown_path};
use read::{ConfigFile, check_baseline, context, nearest, read};

use super::args::Common;
use super::paths::resolve_named_path;
use super::stop::Stop;
use super::surroundings::common_folder;

mod read;

/// The settings of a run from the configuration file and the options.
pub(super) struct LoadedConfig {
    /// The settings; options take precedence over the configuration file.
    pub(super) layer: Layer,
    /// The paths under `context` in the configuration file.
    pub(super) context: Vec<Input>,
    /// The folder of the configuration file.
    pub(super) folder: Option<PathBuf>,
    /// The configuration file, as shown to the user.
    pub(super) shown: Option<String>,
}

/// Reads the configuration file from `files`, or from the disk if the user names it, and combines it with the options.
///
/// # Errors
/// The configuration file or one of its paths is invalid.
pub(super) fn load_config(
    common: &Common,
    directory: &Path,
    files: &FileSystem,
) -> Result<LoadedConfig, Stop> {
    let options = options(common);
    let file = match &common.config {
        Some(file) => {
            resolve_named_path("--config", file, directory)?;
            Some(ConfigFile::Named(directory.join(file)))
        }
        None if common.isolated => None,
        None => match nearest(directory, files)? {
            Some(file) => Some(file),
            // The result must not depend on the working directory.
            None => match common_folder(common, (files, directory)) {
                Some(folder) => nearest(&folder, files)?,
                None => None,
            },
        },
    };
    let Some(file) = file else {
        let context = Vec::new();
        return Ok(LoadedConfig {
            layer: options,
            context,
            folder: None,
            shown: None,
        });
    };
    let mut below = read(&file, common, directory, files)?;
    check_baseline(&file, below.baseline.as_deref(), (files, directory))?;
    let context = context(
        &file,
        std::mem::take(&mut below.context),
        (files, directory),
    )?;
    let shown = shown_path(file.path(), directory);
    let others = Arc::new(options.clone());
    let mut layer = options.or(below);
    if matches!(file, ConfigFile::Found(..)) && !layer.has_facts_of(&others) {
        let file = shown.clone();
        layer.configured = Some(ConfiguredFacts { file, others });
    }
    Ok(LoadedConfig {
        layer,
        context,
        folder: file.folder().map(Path::to_path_buf),
        shown: Some(shown),
    })
}

fn options(common: &Common) -> Layer {
    let mut layer = Layer {
        mesh: common.mesh.map(|mesh| mesh.0),
        mesh_version: common.mesh_version,
        namespace: common.namespace.clone(),
        renders_charts: common.renders_charts_of_tree().then_some(true),
        ..Layer::default()
    };
    layer.assume.extend(common.assume.iter().cloned());
    layer.overrides.extend(common.overrides.iter().cloned());
    layer
}
