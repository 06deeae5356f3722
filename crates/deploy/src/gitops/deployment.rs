//! Flux Kustomizations and Argo CD Applications, which deploy folders of the tree.
//!
//! Objects that one of them deploys count as objects of the deploying file's folder: `apps/overlays/prod`
//! deployed from `clusters/prod` is near to the other files of `clusters/prod`. An object that changes
//! the folder that it deploys is rendered (`gitops/render.rs`).

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::kube::delivery::{
    NamedSource, SourceName, application, argo_sources, named_sources,
};
use meshprobe_mesh::kube::{Destination, Object, RenderingId};
use meshprobe_tree::source::{Cluster, SourceSet, paths, placeholder, shell_word};
use meshprobe_yaml::{NodeRef, Span};

use crate::gitops::deployed_folder;
use crate::gitops::repositories::{Repositories, SourcePlace};
use crate::kustomize::kustomization::Dialect;
use crate::kustomize::{Deployed, kustomize_build};

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
pub struct Deployment<'t> {
    /// The object that deploys it.
    pub object: Object<'t>,
    /// The file that determines which objects are near to those of the folder: see `clusters.rs`.
    pub home: &'t Arc<str>,
    /// The environment of the objects of the folder: the home, with the name of the object if the home has several.
    pub environment: Arc<str>,
    /// The names of the objects that deploy the object, directly or through others.
    pub above: BTreeSet<&'t str>,
    /// The folder, without a trailing `/`; empty for the working directory.
    pub folder: String,
    /// The namespace of objects that do not name one.
    pub destination: Option<Destination<'t>>,
    /// The cluster of the objects, if it is known.
    pub cluster: Option<Arc<Cluster>>,
    pub(crate) dialect: Dialect,
    /// The changes to the kustomization of the folder.
    pub(crate) edit: Option<NodeRef<'t>>,
    /// The number of the source of the object that names the folder.
    pub(crate) source: usize,
    /// The position of the object among those that were passed to `all`.
    pub position: usize,
}

impl<'t> Deployment<'t> {
    /// Returns the home, the namespace and the cluster of the objects. Two deployments of a folder with the same target
    /// deploy the same objects.
    pub fn target(&self) -> (&'t Arc<str>, Option<&'t str>, Option<&Cluster>) {
        let destination = self.destination.as_ref();
        let namespace = destination.map(|to| to.namespace);
        (self.home, namespace, self.cluster.as_deref())
    }
}

/// Returns the deployments of `objects`, in their order. An object that was exported from a cluster deploys nothing: all 7
/// Applications with `status` and `metadata.uid` in 96 public repositories are records of test runs.
pub(crate) fn all<'a, 't: 'a>(
    sources: &SourceSet,
    repositories: &Repositories<'t>,
    objects: impl Iterator<Item = &'a Object<'t>>,
) -> Vec<Deployment<'t>> {
    let mut found: Vec<Deployment<'t>> = Vec::new();
    for (position, object) in objects
        .enumerate()
        .filter(|(_, object)| !is_exported(object))
    {
        let destination = destination(object);
        let cluster = object.target_cluster();
        for (number, source) in named_sources(object).iter().enumerate() {
            let deployment = deployment(sources, repositories, object, source);
            found.extend(deployment.map(|deployment| Deployment {
                destination: destination.clone(),
                cluster: cluster.clone(),
                source: number,
                position,
                ..deployment
            }));
        }
    }
    found
}

fn is_exported(object: &Object<'_>) -> bool {
    let uid = object.metadata().and_then(|metadata| metadata.get("uid"));
    uid.is_some() && object.node.get("status").is_some()
}

/// Returns the deployment of one source of an object; `None` if its folder is not in the tree.
fn deployment<'t>(
    sources: &SourceSet,
    repositories: &Repositories<'t>,
    object: &Object<'t>,
    source: &NamedSource<'t>,
) -> Option<Deployment<'t>> {
    let path = source.path().and_then(NodeRef::text).unwrap_or_default();
    let is_argo = matches!(source.name, SourceName::Url(_));
    if is_argo && path.is_empty() {
        return None;
    }
    let parts = deployed_folder::parts(path)?;
    let folder = repositories.folder(sources, object, &source.name, &parts)?;
    let edit = if is_argo {
        // Without a kustomization in the folder, Argo CD deploys the manifests unchanged.
        source
            .node
            .get("kustomize")
            .filter(|edit| edit.is_mapping() && edit.entries().len() > 0)
            .filter(|_| sources.kustomization_in(&folder).is_some())
    } else {
        let mut changes = FLUX_CHANGES.iter();
        changes
            .any(|key| source.node.get(key).is_some())
            .then_some(source.node)
    };
    Some(Deployment {
        object: object.clone(),
        home: object.path(),
        environment: Arc::clone(object.path()),
        above: BTreeSet::new(),
        folder,
        destination: None,
        cluster: None,
        dialect: if is_argo {
            Dialect::Argo
        } else {
            Dialect::Flux
        },
        edit,
        source: 0,
        position: 0,
    })
}

/// Returns the namespace that an Application sets on objects without one.
fn destination<'t>(object: &Object<'t>) -> Option<Destination<'t>> {
    if (object.group(), object.kind) != ("argoproj.io", "Application") {
        return None;
    }
    let node = object.node.get("spec")?.get("destination")?;
    let node = node.get("namespace")?;
    let namespace = node.as_str().filter(|text| !text.is_empty())?;
    let label = object.label_at(node.span(), "");
    Some(Destination {
        namespace,
        path: label.path,
        span: label.span,
    })
}

/// Returns the paths that an object names as folders to deploy. They may contain placeholders and globs.
#[must_use]
pub fn named_paths<'t>(object: &Object<'t>) -> Vec<&'t str> {
    let path = |node: NodeRef<'t>| node.get("path").and_then(NodeRef::text);
    if object.kind != "ApplicationSet" {
        let sources = named_sources(object);
        return sources
            .iter()
            .filter_map(|source| path(source.node))
            .collect();
    }
    let generators = object
        .node
        .get("spec")
        .and_then(|spec| spec.get("generators"));
    let generators = generators.into_iter().flat_map(NodeRef::items);
    let directories = generators
        .filter_map(|generator| generator.get("git")?.get("directories"))
        .flat_map(NodeRef::items);
    let sources = application(object).into_iter().flat_map(argo_sources);
    sources.chain(directories).filter_map(path).collect()
}

/// A source of an object of Flux or Argo CD whose folder is not in the tree.
#[derive(Clone, Debug)]
pub struct MissingFolder<'t> {
    /// The path, as written; empty for the root.
    pub path: &'t str,
    /// What names the folder: the path or the source.
    pub span: Span,
    /// The repository, if it is another one.
    pub elsewhere: Option<SourcePlace>,
}

/// Returns the sources of an object of Flux or Argo CD whose folders are not in the tree, because the path is wrong or
/// contains a placeholder, or because they are in another repository. Charts are not included.
pub fn missing_folders<'t>(
    sources: &SourceSet,
    repositories: &Repositories<'t>,
    object: &Object<'t>,
) -> Vec<MissingFolder<'t>> {
    let missing = |source: NamedSource<'t>| {
        let is_argo = matches!(source.name, SourceName::Url(_));
        let is_chart = ["chart", "helm"]
            .iter()
            .any(|key| source.node.get(key).is_some());
        let path = source.path().and_then(NodeRef::text).unwrap_or_default();
        if is_argo && (is_chart || path.is_empty()) {
            return None;
        }
        let parts = deployed_folder::parts(path);
        let is_whole = parts.as_ref().is_some_and(Vec::is_empty);
        let place = repositories.place(sources, object, &source.name, is_whole);
        let is_found = parts.is_some_and(|parts| {
            let folder = repositories.folder(sources, object, &source.name, &parts);
            folder.is_some()
        });
        let named = source.path().or_else(|| source.node.get("sourceRef"));
        (!is_found).then(|| MissingFolder {
            path,
            span: named.map_or_else(|| object.name_span(), NodeRef::span),
            elsewhere: (place != SourcePlace::Here).then_some(place),
        })
    };
    named_sources(object)
        .into_iter()
        .filter_map(missing)
        .collect()
}

/// The deployments of folders without changes.
#[derive(Debug, Default)]
pub struct Deployments<'t> {
    all: Vec<Deployment<'t>>,
    /// Positions in `all`, by deployed folder.
    by_folder: HashMap<String, Vec<usize>>,
    /// How many levels above the working directory these folders begin.
    height: usize,
}

impl<'t> Deployments<'t> {
    /// Indexes deployments by folder. Folders in `rendered` are omitted: their objects are read as
    /// rendered. Folders in `left_out` have no deployment, also not that of a folder above them.
    pub fn new(
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
    pub fn into_all(self) -> Vec<Deployment<'t>> {
        self.all
    }

    /// Returns all deployments.
    pub fn all(&self) -> &[Deployment<'t>] {
        &self.all
    }

    /// Returns the deployments of the deepest folder that contains a file, with their positions.
    pub fn deploying(&self, path: &str) -> impl Iterator<Item = (usize, &Deployment<'t>)> {
        let mut folders =
            paths::folders(path, self.height).filter_map(|folder| self.by_folder.get(&folder));
        let found = folders.next().map(Vec::as_slice).unwrap_or_default();
        found
            .iter()
            .filter_map(|&index| Some((index, self.all.get(index)?)))
    }
}

/// Returns the identity of the rendering of a deployment.
pub(super) fn id(deployment: &Deployment<'_>, root: &Arc<str>) -> RenderingId {
    RenderingId {
        root: Arc::clone(root),
        environment: Arc::clone(&deployment.environment),
        deployed: Some((deployment.folder.as_str().into(), deployment.source)),
    }
}

/// Returns what deploys a rendering.
pub(super) fn deployed(deployment: &Deployment<'_>) -> Deployed {
    Deployed {
        file: Arc::clone(deployment.object.path()),
        home: Arc::clone(deployment.home),
        folder: deployment.folder.clone(),
        build: build(deployment),
        cluster: deployment.cluster.clone(),
        unread: None,
        destination: deployment.destination.as_ref().map(|to| {
            let place = (Arc::clone(&to.path), to.span);
            (to.namespace.to_owned(), place)
        }),
    }
}

/// Returns the command line that builds the deployment.
pub(crate) fn build(deployment: &Deployment<'_>) -> String {
    let (name, file) = (deployment.object.name(), deployment.object.path());
    if placeholder::contains(name) {
        return kustomize_build(&format!("{}/kustomization.yaml", deployment.folder));
    }
    let (name, file) = (shell_word(name), shell_word(file));
    let folder = match deployment.folder.as_str() {
        "" => ".".to_owned(),
        folder => shell_word(folder),
    };
    if deployment.dialect == Dialect::Argo {
        return format!("argocd app manifests {name} --local {folder}");
    }
    format!("flux build kustomization {name} --path {folder} --kustomization-file {file} --dry-run")
}
