//! What brings a folder of the tree into a cluster: Flux Kustomizations and Argo CD Applications.
//!
//! Everything that one of them deploys belongs together, and lies where the deploying file lies:
//! `apps/overlays/prod` deployed from `clusters/prod` is near to what else is in `clusters/prod`.
//! One that changes what it deploys is rendered (`context/render/deployed.rs`).

pub(in crate::context) mod folder;

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::kube::{Destination, Object};
use crate::source::{SourceSet, place, placeholder};
use crate::yaml::NodeRef;

/// Fields of a Flux Kustomization that change what it deploys; images matter to no probe.
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

/// Whose words the fields of a kustomization are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::context) enum Dialect {
    /// A file of kustomize.
    Kustomize,
    /// `spec` of a Flux Kustomization.
    Flux,
    /// `kustomize` of a source of an Argo CD Application.
    Argo,
}

/// A folder and the object that deploys it.
#[derive(Clone, Debug)]
pub(in crate::context) struct Deployment<'t> {
    /// The object that deploys it.
    pub(in crate::context) object: Object<'t>,
    /// The folder, without `/` at its end; empty for the working directory.
    pub(in crate::context) folder: String,
    /// The namespace of what names none.
    pub(in crate::context) destination: Option<Destination<'t>>,
    pub(in crate::context) dialect: Dialect,
    /// What is written into the kustomization of the folder.
    pub(in crate::context) edit: Option<NodeRef<'t>>,
    /// The repository that it says the folder lies in.
    repository: &'t str,
    /// It deploys the whole repository.
    is_whole: bool,
}

impl<'t> Deployment<'t> {
    /// Returns the file and the namespace that objects go to: two deployments of a folder with the same target deploy
    /// the same.
    pub(in crate::context) fn target(&self) -> (&'t Arc<str>, Option<&'t str>) {
        let destination = self.destination.as_ref();
        (self.object.path(), destination.map(|to| to.namespace))
    }
}

/// Returns what `objects` deploy, in their order.
pub(in crate::context) fn all<'a, 't: 'a>(
    sources: &SourceSet,
    objects: impl Iterator<Item = &'a Object<'t>>,
) -> Vec<Deployment<'t>> {
    let mut found: Vec<Deployment<'t>> = Vec::new();
    for object in objects {
        match (object.group(), object.kind) {
            ("kustomize.toolkit.fluxcd.io", "Kustomization") => {
                found.extend(of_flux(sources, object));
            }
            ("argoproj.io", "Application") => found.extend(of_argo(sources, object)),
            _ => {}
        }
    }
    // A path without folder fits every repository: where folders were found, these tell which
    // one the tree is.
    let own: BTreeSet<&str> = found
        .iter()
        .filter(|one| !one.is_whole)
        .map(|one| one.repository)
        .collect();
    found.retain(|one| !one.is_whole || own.is_empty() || own.contains(one.repository));
    found
}

fn of_flux<'t>(sources: &SourceSet, object: &Object<'t>) -> Option<Deployment<'t>> {
    let spec = object.node.get("spec")?;
    let path = spec.get("path").and_then(NodeRef::text).unwrap_or_default();
    let parts = folder::parts(path)?;
    let source = |key: &str| spec.get("sourceRef")?.get(key)?.as_str();
    let is_git = matches!(source("kind"), None | Some("GitRepository"));
    if parts.is_empty() && !is_git {
        return None;
    }
    Some(Deployment {
        object: object.clone(),
        folder: folder::resolve(sources, object.path(), &parts)?,
        destination: None,
        dialect: Dialect::Flux,
        edit: FLUX_CHANGES
            .iter()
            .any(|key| spec.get(key).is_some())
            .then_some(spec),
        repository: source("name").unwrap_or_default(),
        is_whole: parts.is_empty(),
    })
}

fn of_argo<'t>(sources: &SourceSet, object: &Object<'t>) -> Vec<Deployment<'t>> {
    let Some(spec) = object.node.get("spec") else {
        return Vec::new();
    };
    let destination = spec.get("destination").and_then(|one| one.get("namespace"));
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
    let several = spec
        .get("sources")
        .into_iter()
        .flat_map(|list| list.items());
    let each = spec.get("source").into_iter().chain(several);
    let one = |source: NodeRef<'t>| {
        let parts = folder::parts(source.get("path")?.text().filter(|path| !path.is_empty())?)?;
        let folder = folder::resolve(sources, object.path(), &parts)?;
        // Without a kustomization in the folder the manifests are taken as they are.
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
        })
    };
    each.filter_map(one).collect()
}

/// What deploys which folder as it stands.
#[derive(Debug, Default)]
pub(super) struct Deployments<'t> {
    all: Vec<Deployment<'t>>,
    /// Positions in `all` by the folder that is deployed.
    by_folder: HashMap<String, Vec<usize>>,
    /// How far above the working directory these folders begin.
    height: usize,
}

impl<'t> Deployments<'t> {
    /// Takes in what deploys folders; those in `rendered` are seen as they come out of there. Nothing deploys those in
    /// `left_out`, nor does what deploys a folder above them.
    pub(super) fn new(
        all: Vec<Deployment<'t>>,
        rendered: &BTreeSet<&str>,
        left_out: &BTreeSet<&str>,
    ) -> Self {
        let none = left_out
            .iter()
            .map(|folder| ((*folder).to_owned(), Vec::new()));
        let mut by_folder: HashMap<String, Vec<usize>> = none.collect();
        for (index, one) in all.iter().enumerate() {
            if !rendered.contains(one.folder.as_str()) {
                by_folder.entry(one.folder.clone()).or_default().push(index);
            }
        }
        let heights = by_folder
            .keys()
            .map(|folder| place::height(&format!("{folder}/")));
        Self {
            height: heights.max().unwrap_or_default(),
            all,
            by_folder,
        }
    }

    /// Returns the deployments that take a file in, with their numbers: those of the deepest
    /// folder.
    pub(super) fn taking(&self, path: &str) -> impl Iterator<Item = (usize, &Deployment<'t>)> {
        let mut folders =
            place::folders(path, self.height).filter_map(|folder| self.by_folder.get(&folder));
        let found = folders.next().map(Vec::as_slice).unwrap_or_default();
        found
            .iter()
            .filter_map(|&index| Some((index, self.all.get(index)?)))
    }
}

/// Tells whether a value can be taken as it is written.
fn is_plain(text: &str) -> bool {
    !placeholder::contains(text)
}
