//! Flux Kustomizations and Argo CD Applications, which deploy folders of the tree.
//!
//! Objects that one of them deploys count as objects of the deploying file's folder: `apps/overlays/prod`
//! deployed from `clusters/prod` is near to the other files of `clusters/prod`. An object that changes
//! the folder that it deploys is rendered (`gitops/render.rs`).

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::gitops::deployed_folder;
use crate::kube::{Destination, Object};
use crate::kustomize::dialect::Dialect;
use crate::source::{SourceSet, paths};
use crate::yaml::NodeRef;

/// Fields of a Flux Kustomization that change the objects that it deploys, without `images`, which do
/// not affect probes.
/// Source: Flux, `kustomize.toolkit.fluxcd.io/v1`.
const FLUX_CHANGES: [&str; 9] = [
    "commonMetadata",
    "components",
    "namePrefix",
    "nameSuffix",
    "patches",
    "patchesJson6902",
    "patchesStrategicMerge",
    "postBuild",
    "targetNamespace",
];

/// A folder and the object that deploys it.
#[derive(Clone, Debug)]
pub(crate) struct Deployment<'t> {
    /// The object that deploys it.
    pub(crate) object: Object<'t>,
    /// The folder, without a trailing `/`; empty for the working directory.
    pub(crate) folder: String,
    /// The namespace of objects that do not name one.
    pub(crate) destination: Option<Destination<'t>>,
    pub(crate) dialect: Dialect,
    /// The changes to the kustomization of the folder.
    pub(crate) edit: Option<NodeRef<'t>>,
    /// The repository of the folder, as the object names it.
    repository: &'t str,
    /// It deploys the whole repository.
    is_whole: bool,
    /// The position of the object among those that were passed to [`all`].
    pub(crate) position: usize,
}

impl<'t> Deployment<'t> {
    /// Returns the deploying file and the namespace of the objects. Two deployments of a folder with the
    /// same target deploy the same objects.
    pub(crate) fn target(&self) -> (&'t Arc<str>, Option<&'t str>) {
        let destination = self.destination.as_ref();
        (self.object.path(), destination.map(|to| to.namespace))
    }
}

/// Returns the deployments of `objects`, in their order.
pub(crate) fn all<'a, 't: 'a>(
    sources: &SourceSet,
    objects: impl Iterator<Item = &'a Object<'t>>,
) -> Vec<Deployment<'t>> {
    let mut found: Vec<Deployment<'t>> = Vec::new();
    for (position, object) in objects.enumerate() {
        let first = found.len();
        match (object.group(), object.kind) {
            ("kustomize.toolkit.fluxcd.io", "Kustomization") => {
                found.extend(of_flux(sources, object));
            }
            ("argoproj.io", "Application") => found.extend(of_argo(sources, object)),
            _ => {}
        }
        for deployment in found.iter_mut().skip(first) {
            deployment.position = position;
        }
    }
    // A path to the root exists in every repository. Deployments whose folders were found show which
    // repository the tree belongs to.
    let own: BTreeSet<&str> = found
        .iter()
        .filter(|deployment| !deployment.is_whole)
        .map(|deployment| deployment.repository)
        .collect();
    found.retain(|deployment| {
        !deployment.is_whole || own.is_empty() || own.contains(deployment.repository)
    });
    found
}

fn of_flux<'t>(sources: &SourceSet, object: &Object<'t>) -> Option<Deployment<'t>> {
    let spec = object.node.get("spec")?;
    let path = spec.get("path").and_then(NodeRef::text).unwrap_or_default();
    let parts = deployed_folder::parts(path)?;
    let source = |key: &str| spec.get("sourceRef")?.get(key)?.as_str();
    let is_git = matches!(source("kind"), None | Some("GitRepository"));
    if parts.is_empty() && !is_git {
        return None;
    }
    Some(Deployment {
        object: object.clone(),
        folder: deployed_folder::resolve(sources, object.path(), &parts)?,
        destination: None,
        dialect: Dialect::Flux,
        edit: FLUX_CHANGES
            .iter()
            .any(|key| spec.get(key).is_some())
            .then_some(spec),
        repository: source("name").unwrap_or_default(),
        is_whole: parts.is_empty(),
        position: 0,
    })
}

fn of_argo<'t>(sources: &SourceSet, object: &Object<'t>) -> Vec<Deployment<'t>> {
    let Some(spec) = object.node.get("spec") else {
        return Vec::new();
    };
    let destination = spec
        .get("destination")
        .and_then(|destination| destination.get("namespace"));
    let destination = destination
        .and_then(|node| Some((node, node.as_str().filter(|text| !text.is_empty())?)))
        .map(|(node, namespace)| {
            let label = object.label_at(node.span(), "");
            Destination {
                namespace,
                path: label.path,
                span: label.span,
            }
        });
    let of_source = |source: NodeRef<'t>| {
        let parts =
            deployed_folder::parts(source.get("path")?.text().filter(|path| !path.is_empty())?)?;
        let folder = deployed_folder::resolve(sources, object.path(), &parts)?;
        // Without a kustomization in the folder, Argo CD deploys the manifests unchanged.
        let edit = source
            .get("kustomize")
            .filter(|edit| edit.is_mapping() && edit.entries().len() > 0)
            .filter(|_| sources.kustomization_in(&folder).is_some());
        Some(Deployment {
            object: object.clone(),
            folder,
            destination: destination.clone(),
            dialect: Dialect::Argo,
            edit,
            repository: source
                .get("repoURL")
                .and_then(NodeRef::as_str)
                .unwrap_or_default(),
            is_whole: parts.is_empty(),
            position: 0,
        })
    };
    argo_sources(spec).filter_map(of_source).collect()
}

/// Iterates over the sources of an Application. Argo CD renders the dry source of a hydrator, and commits the result to
/// the branch that it deploys.
fn argo_sources<'t>(spec: NodeRef<'t>) -> impl Iterator<Item = NodeRef<'t>> {
    let several = spec
        .get("sources")
        .into_iter()
        .flat_map(|list| list.items());
    let hydrator = spec.get("sourceHydrator");
    let dry = hydrator.and_then(|hydrator| hydrator.get("drySource"));
    spec.get("source").into_iter().chain(several).chain(dry)
}

/// Returns the paths that an object names as folders to deploy. They may contain placeholders and globs.
pub(crate) fn named_paths<'t>(object: &Object<'t>) -> Vec<&'t str> {
    let Some(spec) = object.node.get("spec") else {
        return Vec::new();
    };
    let path = |node: NodeRef<'t>| node.get("path").and_then(NodeRef::text);
    match (object.group(), object.kind) {
        ("kustomize.toolkit.fluxcd.io", "Kustomization") => path(spec).into_iter().collect(),
        ("argoproj.io", "Application") => argo_sources(spec).filter_map(path).collect(),
        ("argoproj.io", "ApplicationSet") => {
            let template = spec
                .get("template")
                .and_then(|template| template.get("spec"));
            let generators = spec.get("generators");
            let generators = generators.into_iter().flat_map(NodeRef::items);
            let directories = generators
                .filter_map(|generator| generator.get("git")?.get("directories"))
                .flat_map(NodeRef::items);
            template
                .into_iter()
                .flat_map(argo_sources)
                .chain(directories)
                .filter_map(path)
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the paths in an object of Flux or Argo CD that are not folders of the tree, because the path is wrong, is in
/// another repository, or contains a placeholder. Paths of charts are not included.
pub(crate) fn missing_folders<'t>(sources: &SourceSet, object: &Object<'t>) -> Vec<NodeRef<'t>> {
    let Some(spec) = object.node.get("spec") else {
        return Vec::new();
    };
    let sources_of: Vec<NodeRef<'t>> = match (object.group(), object.kind) {
        ("kustomize.toolkit.fluxcd.io", "Kustomization") => vec![spec],
        ("argoproj.io", "Application") => argo_sources(spec)
            .filter(|source| source.get("chart").is_none() && source.get("helm").is_none())
            .collect(),
        _ => Vec::new(),
    };
    let is_missing = |path: &NodeRef<'t>| {
        path.text().is_some_and(|text| {
            deployed_folder::parts(text).is_none_or(|parts| {
                !parts.is_empty()
                    && deployed_folder::resolve(sources, object.path(), &parts).is_none()
            })
        })
    };
    sources_of
        .into_iter()
        .filter_map(|source| source.get("path"))
        .filter(is_missing)
        .collect()
}

/// The deployments of folders without changes.
#[derive(Debug, Default)]
pub(crate) struct Deployments<'t> {
    all: Vec<Deployment<'t>>,
    /// Positions in `all`, by deployed folder.
    by_folder: HashMap<String, Vec<usize>>,
    /// How many levels above the working directory these folders begin.
    height: usize,
}

impl<'t> Deployments<'t> {
    /// Indexes deployments by folder. Folders in `rendered` are omitted: their objects are read as
    /// rendered. Folders in `left_out` have no deployment, also not that of a folder above them.
    pub(crate) fn new(
        all: Vec<Deployment<'t>>,
        rendered: &BTreeSet<&str>,
        left_out: &BTreeSet<&str>,
    ) -> Self {
        let mut by_folder: HashMap<String, Vec<usize>> = left_out
            .iter()
            .map(|folder| ((*folder).to_owned(), Vec::new()))
            .collect();
        for (index, deployment) in all.iter().enumerate() {
            if !rendered.contains(deployment.folder.as_str()) {
                by_folder
                    .entry(deployment.folder.clone())
                    .or_default()
                    .push(index);
            }
        }
        let heights = by_folder
            .keys()
            .map(|folder| paths::height(&format!("{folder}/")));
        Self {
            height: heights.max().unwrap_or_default(),
            all,
            by_folder,
        }
    }

    /// Returns all deployments.
    pub(crate) fn all(&self) -> &[Deployment<'t>] {
        &self.all
    }

    /// Returns the deployments of the deepest folder that contains a file, with their positions.
    pub(crate) fn deploying(&self, path: &str) -> impl Iterator<Item = (usize, &Deployment<'t>)> {
        let mut folders =
            paths::folders(path, self.height).filter_map(|folder| self.by_folder.get(&folder));
        let found = folders.next().map(Vec::as_slice).unwrap_or_default();
        found
            .iter()
            .filter_map(|&index| Some((index, self.all.get(index)?)))
    }
}
