//! Reads a configuration file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshprobe_mesh::settings::{self, Layer};
use meshprobe_tree::filesystem::FileSystem;
use meshprobe_tree::source::{canonical, io_error_reason, read_text, shown_path};
use meshprobe_yaml::{self as yaml, LineIndex, Span};

use super::super::args::Common;
use super::super::stop::Stop;
use super::file::ConfigFile;
use crate::engine::rule_names;

/// Reads the settings of a configuration file. Its relative paths and patterns become those of the working directory.
///
/// # Errors
/// The file cannot be read or contains invalid settings.
pub(super) fn read(
    config: &ConfigFile,
    common: &Common,
    directory: &Path,
    files: &FileSystem,
) -> Result<Layer, Stop> {
    let (file, text) = match config {
        ConfigFile::Named(file) => (file, read_text(file)),
        ConfigFile::Found(file, real, _) => (file, files.read_resolved_text(real)),
    };
    let shown = shown_path(file, directory);
    let text = text.map_err(|error| {
        Stop::usage(format!(
            "cannot read `{shown}`: {}",
            io_error_reason(&error)
        ))
    })?;
    let text: Arc<str> = text.into();
    let at = |offset: usize, message: &str| {
        let place = LineIndex::new(&text).position(&text, offset);
        format!("{shown}:{}:{}: {message}", place.line, place.column)
    };
    let tree = yaml::parse_embedded(&text, Span::new(0, text.len()))
        .map_err(|error| Stop::usage(at(error.offset, &error.message)))?;
    let Some(tree) = tree else {
        return Ok(Layer::default());
    };
    let Some(root) = tree.root() else {
        return Ok(Layer::default());
    };
    let mut layer = settings::parse(root, rule_names()).map_err(|problems| {
        let errors = problems
            .iter()
            .map(|problem| at(problem.span.start, &problem.message));
        Stop::Usage(errors.collect())
    })?;
    if layer.renders_charts == Some(true) && matches!(config, ConfigFile::Found(..)) {
        let entry = root.get("spec").and_then(|spec| spec.entry("helm"));
        let offset = entry.map_or(0, |entry| entry.key.span().start);
        let message = "`helm: auto` runs a program, so it is not accepted from a configuration that is found in the tree";
        return Err(Stop::usage(at(offset, message))
            .help("pass `--helm auto`, or pass the configuration with `--config`"));
    }
    let folder = file.parent().unwrap_or(directory);
    let is_covered = covers(common, directory, folder);
    let base = relative_to(folder, directory);
    for path in layer.context.iter_mut().chain(&mut layer.baseline) {
        *path = base.join(&*path).to_string_lossy().into_owned();
    }
    let ignored = layer.ignore.iter_mut().map(|ignore| &mut ignore.scope);
    for scope in layer.scopes.iter_mut().chain(ignored) {
        scope.folder = file.parent().unwrap_or(directory).to_path_buf();
        scope.directory = directory.to_path_buf();
        scope.file = shown.as_str().into();
        scope.is_covered = is_covered;
    }
    Ok(layer)
}

/// Returns whether the paths of the run include all of `folder`.
fn covers(common: &Common, directory: &Path, folder: &Path) -> bool {
    if common.renders() || !common.exclude.is_empty() {
        return false;
    }
    let is_above = |path: &Path| {
        let place = canonical(&directory.join(path));
        place.is_ok_and(|place| canonical(folder).is_ok_and(|folder| folder.starts_with(place)))
    };
    match common.paths.as_slice() {
        [] => is_above(Path::new(".")),
        paths => paths.iter().any(|path| is_above(path)),
    }
}

/// Returns `base` as a path relative to `directory` if it is above it, and `base` itself otherwise.
fn relative_to(base: &Path, directory: &Path) -> PathBuf {
    match directory.strip_prefix(base) {
        Ok(down) => down.components().map(|_| "..").collect(),
        Err(_) => base.to_path_buf(),
    }
}
