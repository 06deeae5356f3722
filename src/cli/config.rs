//! Lays the command line over the configuration file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::{check_ids, rule_ids};
use crate::settings::{self, Facts, Form, Layer, Mesh, MeshKind};
use crate::source::{read_text, reason, shown_path};
use crate::yaml::{self, LineIndex, Span};

use super::args::{Common, MeshArg};
use super::output::Stop;

const FILE_NAME: &str = ".meshprobe.yaml";

/// What the configuration file and the options say together; `context` holds paths.
pub(super) fn layer(common: &Common, directory: &Path) -> Result<Layer, Stop> {
    let options = options(common)?;
    let file = match &common.config {
        Some(file) => Some(directory.join(file)),
        None if common.isolated => None,
        None => nearest(directory),
    };
    match file {
        Some(file) => Ok(options.over(read(&file, directory)?)),
        None => Ok(options),
    }
}

/// The nearest configuration file upward, not beyond the root of the repository.
fn nearest(directory: &Path) -> Option<PathBuf> {
    for above in directory.ancestors() {
        let file = above.join(FILE_NAME);
        if file.is_file() {
            return Some(file);
        }
        if above.join(".git").exists() {
            return None;
        }
    }
    None
}

fn read(file: &Path, directory: &Path) -> Result<Layer, Stop> {
    let shown = shown_path(file, directory);
    let text = read_text(file)
        .map_err(|error| Stop::usage(format!("cannot read {shown}: {}", reason(&error))))?;
    let text: Arc<str> = text.into();
    let at = |offset: usize, message: &str| {
        let place = LineIndex::new(&text).position(&text, offset);
        format!("{shown}:{}:{}: {message}", place.line, place.column)
    };
    let tree = yaml::parse(&text, Span::new(0, text.len()))
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
