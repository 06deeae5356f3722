//! The clusters to which Flux and Argo CD deploy the files of the tree.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::kube::Object;
use meshprobe_tree::source::{Cluster, SourceSet, paths};
use meshprobe_yaml::Span;

use crate::gitops::deployment::Deployment;
use crate::gitops::repositories::Repositories;
use crate::gitops::{deployment, homes};

/// Returns the deployments of `objects`, in their order, with their clusters.
pub fn deployments<'a, 't: 'a>(
    sources: &SourceSet,
    repositories: &Repositories<'t>,
    objects: impl Iterator<Item = &'a Object<'t>>,
) -> Vec<Deployment<'t>> {
    let mut found = deployment::all(sources, repositories, objects);
    resolve(&mut found);
    let mut found = homes::resolve(found);
    separate_roots(&mut found);
    found
}

/// Gives files of one folder clusters of their own if several of them deploy an object with the same name: they cannot be
/// applied to one cluster, such as `bootstrap/eu1.yaml` and `bootstrap/us1.yaml`.
fn separate_roots(deployments: &mut [Deployment<'_>]) {
    let mut homes: HashMap<_, BTreeSet<&Arc<str>>> = HashMap::new();
    for deployment in &*deployments {
        let (home, object) = (deployment.home, &deployment.object);
        let name = (object.kind, object.namespace(), object.name());
        let same = homes.entry((paths::folder(home), name)).or_default();
        same.insert(home);
    }
    let several = homes.into_values().filter(|homes| homes.len() > 1);
    let roots = several.flatten().map(|home| {
        let cluster = Arc::new(Cluster::Root(Arc::clone(home)));
        (Arc::clone(home), cluster)
    });
    let roots: HashMap<Arc<str>, Arc<Cluster>> = roots.collect();
    for deployment in deployments {
        let is_own = deployment.cluster.as_ref().is_none_or(|own| own.is_own());
        if let Some(root) = roots.get(deployment.home).filter(|_| is_own) {
            deployment.cluster = Some(Arc::clone(root));
        }
    }
}

/// Completes the clusters of deployments. An object that another one deploys to a remote cluster takes effect there:
/// its own cluster is that one. Equal clusters become one value, which caches compare by address.
fn resolve(deployments: &mut [Deployment<'_>]) {
    let folders: Vec<String> = deployments
        .iter()
        .map(|deployment| deployment.folder.clone())
        .collect();
    let mut remote: HashMap<&str, Vec<Arc<Cluster>>> = HashMap::new();
    let mut known: BTreeSet<Arc<Cluster>> = BTreeSet::new();
    for (deployment, folder) in deployments.iter_mut().zip(&folders) {
        let Some(cluster) = &mut deployment.cluster else {
            continue;
        };
        match known.get(cluster) {
            Some(same) => *cluster = Arc::clone(same),
            None => drop(known.insert(Arc::clone(cluster))),
        }
        if !cluster.is_own() {
            let clusters = remote.entry(folder).or_default();
            clusters.push(Arc::clone(cluster));
        }
    }
    if remote.is_empty() {
        return;
    }
    let height = height(remote.keys().copied());
    for deployment in deployments {
        let is_own = |cluster: &Arc<Cluster>| cluster.is_own();
        if !deployment.cluster.as_ref().is_some_and(is_own) {
            continue;
        }
        let mut folders = paths::folders(deployment.object.path(), height);
        if let Some(clusters) = folders.find_map(|folder| remote.get(folder.as_str())) {
            let first = clusters.first().cloned();
            let is_same = |other| first.as_ref() == Some(other);
            deployment.cluster = first.clone().filter(|_| clusters.iter().all(is_same));
        }
    }
}

/// Returns how many levels above the working directory the highest folder begins.
fn height<'f>(folders: impl Iterator<Item = &'f str>) -> usize {
    let heights = folders.map(|folder| paths::height(&format!("{folder}/")));
    heights.max().unwrap_or_default()
}

/// The clusters to which files of the tree are deployed, and those of the charts that objects in them deploy.
#[derive(Debug, Default)]
pub struct FileClusters {
    /// The clusters by deployed folder; `None` for a cluster that is not known.
    by_folder: HashMap<String, Vec<Option<Arc<Cluster>>>>,
    /// The clusters of the objects of Argo CD and Flux, by file.
    by_file: HashMap<Arc<str>, Vec<(Span, Arc<Cluster>)>>,
    height: usize,
}

impl FileClusters {
    /// Indexes the clusters of deployments and of `objects`.
    pub fn of<'a, 't: 'a>(
        deployments: &[Deployment<'t>],
        objects: impl Iterator<Item = &'a Object<'t>>,
    ) -> Self {
        let mut found = Self::default();
        for deployment in deployments {
            let folder = found.by_folder.entry_ref(deployment.folder.as_str());
            folder.or_default().push(deployment.cluster.clone());
        }
        found.height = height(found.by_folder.keys().map(String::as_str));
        for object in objects.filter(|object| object.provenance.is_none()) {
            if let Some(cluster) = object.target_cluster() {
                let file = found.by_file.entry_ref(object.path());
                file.or_default().push((object.node.span(), cluster));
            }
        }
        found
    }

    /// Returns whether the position of a fact in a file may describe the cluster of `object`.
    pub fn may_apply(&self, (path, span): (&str, Span), object: &Object<'_>) -> bool {
        let Some(cluster) = object.cluster.as_deref() else {
            return true;
        };
        let is_other = |other: &Arc<Cluster>| other.differs_from(cluster);
        let deploying = self.by_file.get(path).into_iter().flatten();
        let mut around =
            deploying.filter(|(object, _)| object.start <= span.start && span.end <= object.end);
        if let Some((_, target)) = around.next() {
            return !is_other(target);
        }
        let mut folders = paths::folders(path, self.height);
        let clusters = folders.find_map(|folder| self.by_folder.get(&folder));
        clusters.is_none_or(|clusters| {
            let mut clusters = clusters.iter();
            clusters.any(|other| !other.as_ref().is_some_and(is_other))
        })
    }
}
