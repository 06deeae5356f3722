//! Finds and reads the configuration file of a run, and the paths that it names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshprobe_mesh::settings;
use meshprobe_mesh::settings::Layer;
use meshprobe_tree::filesystem::FileSystem;
use meshprobe_tree::source::{CONFIG_NAMES, Input, canonical, io_error_reason, shown_path};
use meshprobe_yaml as yaml;
use meshprobe_yaml::{LineIndex, Span};

use crate::cli::args::Common;
use crate::cli::stop::Stop;
use meshprobe_engine::engine::rule_names;

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
        ConfigFile::Named(file) => (file, FileSystem::default().read_text(file)),
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

/// A configuration file, and which paths it may contain.
pub(super) enum ConfigFile {
    /// A file that the user named; it may contain any path.
    Named(PathBuf),
    /// A file of the tree: its path, its resolved path, and the folder that its paths must not leave.
    Found(PathBuf, PathBuf, PathBuf),
}

impl ConfigFile {
    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Named(file) | Self::Found(file, ..) => file,
        }
    }

    /// Returns the folder of the file.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.path().parent()
    }
}

/// Finds the nearest configuration file in `directory` or above, up to the root of the repository.
pub(super) fn nearest(directory: &Path, files: &FileSystem) -> Result<Option<ConfigFile>, Stop> {
    for above in directory.ancestors() {
        if let Some(file) = config_in(above, directory, files)? {
            return Ok(Some(file));
        }
        if files.exists(&above.join(".git")) {
            break;
        }
    }
    Ok(None)
}

/// Finds the configuration file of a folder.
///
/// # Errors
/// There are two, or a link leads out of the repository.
fn config_in(
    folder: &Path,
    directory: &Path,
    files: &FileSystem,
) -> Result<Option<ConfigFile>, Stop> {
    let mut found = None;
    for name in CONFIG_NAMES {
        let file = folder.join(name);
        if files.symlink_kind(&file).is_err() {
            continue;
        }
        let boundary = files.boundary(folder);
        let real = files.resolved_within(folder, Path::new(name), &boundary);
        let real = real.map_err(|why| {
            let shown = shown_path(&file, directory);
            Stop::usage(format!("cannot read `{shown}`: {why}"))
                .help("use `--config` to read it anyway")
        })?;
        if !files.is_file(&real) {
            continue;
        }
        if let Some(ConfigFile::Found(first, ..)) = found {
            let (first, second) = (shown_path(&first, directory), shown_path(&file, directory));
            return Err(Stop::usage(format!(
                "found two configuration files, `{first}` and `{second}`"
            ))
            .help("delete one of them, or name one with `--config`"));
        }
        found = Some(ConfigFile::Found(file, real, boundary));
    }
    Ok(found)
}

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
