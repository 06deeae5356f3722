//! Lays the command line over the configuration file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::{check_ids, rule_ids};
use crate::settings::{self, Facts, Form, Layer, Mesh, MeshKind};
use crate::source::{
    Input, boundary, read_resolved_text, read_text, reason, resolved_within, shown_path,
};
use crate::yaml::{self, LineIndex, Span};

use super::args::{Common, MeshArg};
use super::input::named;
use super::output::Stop;

const FILE_NAME: &str = ".meshprobe.yaml";

/// The settings of a run, as far as they are written down before it.
pub(super) struct Configured {
    /// What the configuration file and the options set together.
    pub(super) layer: Layer,
    /// What the configuration file names to be read for facts.
    pub(super) context: Vec<Input>,
}

/// Where a configuration file is, and what it may name.
enum ConfigFile {
    /// The user named it: so are the paths that it names.
    Named(PathBuf),
    /// It was found in the tree, at the first path, which resolves to the second; what it names
    /// must stay in the folder that is the third.
    Found(PathBuf, PathBuf, PathBuf),
}

/// Reads the configuration file, and lays the options over it.
pub(super) fn configured(common: &Common, directory: &Path) -> Result<Configured, Stop> {
    let options = options(common)?;
    let file = match &common.config {
        Some(file) => {
            named("--config", file, directory)?;
            Some(ConfigFile::Named(directory.join(file)))
        }
        None if common.isolated => None,
        None => nearest(directory)?,
    };
    let Some(file) = file else {
        let context = Vec::new();
        return Ok(Configured {
            layer: options,
            context,
        });
    };
    let mut below = read(&file, directory)?;
    let context = context(&file, std::mem::take(&mut below.context), directory)?;
    Ok(Configured {
        layer: options.over(below),
        context,
    })
}

/// The nearest configuration file upward, not beyond the root of the repository.
fn nearest(directory: &Path) -> Result<Option<ConfigFile>, Stop> {
    for above in directory.ancestors() {
        let file = above.join(FILE_NAME);
        if std::fs::symlink_metadata(&file).is_ok() {
            let boundary = boundary(above);
            let real = resolved_within(above, Path::new(FILE_NAME), &boundary).map_err(|why| {
                let shown = shown_path(&file, directory);
                Stop::usage(format!(
                    "cannot read {shown}: {why}; name it with `--config` to use it all the same"
                ))
            })?;
            if real.is_file() {
                return Ok(Some(ConfigFile::Found(file, real, boundary)));
            }
        }
        if above.join(".git").exists() {
            break;
        }
    }
    Ok(None)
}

/// What a configuration file names to be read for facts: of one that was found in the tree, only
/// what is in the repository.
fn context(file: &ConfigFile, paths: Vec<String>, directory: &Path) -> Result<Vec<Input>, Stop> {
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
    let mut wrong = Vec::new();
    for path in paths {
        match resolved_within(directory, Path::new(&path), boundary) {
            Ok(real) => found.push(Input::Resolved(real)),
            Err(why) => {
                let shown = shown_path(shown, directory);
                wrong.push(format!(
                    "{shown}: cannot read `{path}` for `context`: {why}; name it with `--context`, \
                     or the configuration with `--config`"
                ));
            }
        }
    }
    if wrong.is_empty() {
        Ok(found)
    } else {
        Err(Stop::Usage(wrong))
    }
}

fn read(config: &ConfigFile, directory: &Path) -> Result<Layer, Stop> {
    let (file, text) = match config {
        ConfigFile::Named(file) => (file, read_text(file)),
        ConfigFile::Found(file, real, _) => (file, read_resolved_text(real)),
    };
    let shown = shown_path(file, directory);
    let text =
        text.map_err(|error| Stop::usage(format!("cannot read {shown}: {}", reason(&error))))?;
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
    let mut layer = settings::read(root, &rule_ids(), &check_ids()).map_err(|problems| {
        let told = problems
            .iter()
            .map(|problem| at(problem.span.start, &problem.message));
        Stop::Usage(told.collect())
    })?;
    let base = relative_to(file.parent().unwrap_or(directory), directory);
    for path in &mut layer.context {
        *path = base.join(&*path).to_string_lossy().into_owned();
    }
    let ignored = layer.ignore.iter_mut().map(|ignore| {
        ignore.file = shown.as_str().into();
        &mut ignore.scope
    });
    for scope in layer.scopes.iter_mut().chain(ignored) {
        scope.folder = file.parent().unwrap_or(directory).to_path_buf();
        scope.directory = directory.to_path_buf();
    }
    Ok(layer)
}

/// A directory above the working directory is written with `..`, as users would.
fn relative_to(base: &Path, directory: &Path) -> PathBuf {
    match directory.strip_prefix(base) {
        Ok(down) => down.components().map(|_| "..").collect(),
        Err(_) => base.to_path_buf(),
    }
}

fn options(common: &Common) -> Result<Layer, Stop> {
    let mut wrong = Vec::new();
    let mut facts = |name: &str, pairs: &[String]| {
        let mut facts = Facts::default();
        for pair in pairs {
            if let Err(message) = facts.set_pair(pair) {
                wrong.push(format!("--{name}: {message}"));
            }
        }
        facts
    };
    let assume = facts("assume", &common.assume);
    let overrides = facts("override", &common.overrides);
    let mesh_version = match common.mesh_version.as_deref().map(str::parse) {
        Some(Ok(version)) => Some(version),
        Some(Err(message)) => {
            wrong.push(format!("--mesh-version: {message}"));
            None
        }
        None => None,
    };
    if !wrong.is_empty() {
        return Err(Stop::Usage(wrong));
    }
    Ok(Layer {
        mesh: common.mesh.map(mesh),
        mesh_version,
        assume,
        overrides,
        namespace: common.namespace.clone(),
        form: None::<Form>,
        ..Layer::default()
    })
}

const fn mesh(mesh: MeshArg) -> MeshKind {
    match mesh {
        MeshArg::Auto => MeshKind::Auto,
        MeshArg::Istio => MeshKind::One(Mesh::Istio),
        MeshArg::Ambient => MeshKind::Ambient,
        MeshArg::Osm => MeshKind::One(Mesh::Osm),
        MeshArg::Kuma => MeshKind::One(Mesh::Kuma),
        MeshArg::Consul => MeshKind::One(Mesh::Consul),
        MeshArg::Linkerd => MeshKind::One(Mesh::Linkerd),
        MeshArg::AppMesh => MeshKind::One(Mesh::AppMesh),
        MeshArg::Cilium => MeshKind::One(Mesh::Cilium),
        MeshArg::None => MeshKind::None,
    }
}
