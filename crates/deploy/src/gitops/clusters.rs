//! The clusters to which Flux and Argo CD deploy the files of the tree.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::finding::environment_id;
use meshprobe_mesh::kube::Object;
use meshprobe_tree::source::{Cluster, SourceSet, is_kustomization, paths};
use meshprobe_yaml::Span;

use crate::gitops::deployment;
use crate::gitops::deployment::Deployment;
use crate::gitops::repositories::Repositories;

/// Returns the deployments of `objects`, in their order, with their clusters.
pub fn deployments<'a, 't: 'a>(
    sources: &SourceSet,
    repositories: &Repositories<'t>,
    objects: impl Iterator<Item = &'a Object<'t>>,
) -> Vec<Deployment<'t>> {
    let mut found = deployment::all(sources, repositories, objects);
    resolve(&mut found);
    let mut found = resolve_homes(found);
    separate_roots(&mut found);
    found
}

/// Gives files of one folder clusters of their own if several of them deploy an object with the same name: they cannot be
/// applied to one cluster, such as `bootstrap/eu1.yaml` and `bootstrap/us1.yaml`. A document that several of them include
/// does not distinguish them.
fn separate_roots(deployments: &mut [Deployment<'_>]) {
    let mut documents: HashMap<_, BTreeSet<&Arc<str>>> = HashMap::new();
    for deployment in &*deployments {
        let (home, object) = (deployment.home, &deployment.object);
        let name = (object.kind, object.namespace(), object.name());
        let document = (object.path(), object.document.index);
        let same = documents.entry((paths::folder(home), name, document));
        same.or_default().insert(home);
    }
    let mut homes: HashMap<_, BTreeSet<&Arc<str>>> = HashMap::new();
    for ((folder, name, _), from) in documents {
        if from.len() == 1 {
            homes.entry((folder, name)).or_default().extend(from);
        }
    }
    let several = homes.into_values().filter(|homes| homes.len() > 1);
    let roots = several.flatten().map(|home| {
        let cluster = Arc::new(Cluster::Root(Arc::clone(home)));
        (Arc::clone(home), cluster)
    });
    let roots: HashMap<Arc<str>, Arc<Cluster>> = roots.collect();
    for deployment in deployments {
        let is_own = deployment.cluster.as_ref().is_some_and(|own| own.is_own());
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
        for object in objects.filter(|object| object.rendered_by.is_none()) {
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

/// The most homes of one object. Objects with more keep their own file.
const MOST: usize = 64;

/// The most objects between a workload and its root that are followed.
const DEPTH: usize = 32;

/// A home, and the names of the objects through which it deploys.
type Home<'t> = (&'t Arc<str>, BTreeSet<&'t str>);

/// Sets the homes and environments of deployments. An object that several homes deploy becomes one deployment for each.
fn resolve_homes(found: Vec<Deployment<'_>>) -> Vec<Deployment<'_>> {
    let homes = Resolver::of(&found).all();
    let mut resolved: Vec<Deployment<'_>> = found
        .into_iter()
        .zip(homes)
        .flat_map(|(deployment, homes)| {
            homes.into_iter().map(move |(home, above)| Deployment {
                home,
                above,
                ..deployment.clone()
            })
        })
        .collect();
    name(&mut resolved);
    resolved
}

struct Resolver<'a, 't> {
    deployments: &'a [Deployment<'t>],
    by_folder: HashMap<&'a str, Vec<usize>>,
    height: usize,
    /// The homes of the objects at these positions; empty while they are searched.
    known: HashMap<usize, Vec<Home<'t>>>,
}

impl<'a, 't> Resolver<'a, 't> {
    fn of(deployments: &'a [Deployment<'t>]) -> Self {
        let mut by_folder: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, deployment) in deployments.iter().enumerate() {
            by_folder.entry(&deployment.folder).or_default().push(index);
        }
        let heights = by_folder
            .keys()
            .map(|folder| paths::height(&format!("{folder}/")));
        Self {
            height: heights.max().unwrap_or_default(),
            deployments,
            by_folder,
            known: HashMap::new(),
        }
    }

    fn all(mut self) -> Vec<Vec<Home<'t>>> {
        let deployments = self.deployments.iter();
        deployments
            .map(|deployment| self.homes(deployment, DEPTH))
            .collect()
    }

    /// Returns the homes of what an object deploys.
    fn homes(&mut self, deployment: &'a Deployment<'t>, depth: usize) -> Vec<Home<'t>> {
        if let Some(known) = self.known.get(&deployment.position) {
            return known.clone();
        }
        self.known.insert(deployment.position, Vec::new());
        let object = &deployment.object;
        let (start, is_final) = start(object);
        let mut found: Vec<Home<'t>> = Vec::new();
        let mut add = |file: &'t Arc<str>, above: BTreeSet<&'t str>| {
            let file = home_of(object, file);
            match found.iter_mut().find(|(known, _)| *known == file) {
                Some((_, known)) => known.extend(above),
                None => found.push((file, above)),
            }
        };
        for &parent in self
            .parents(start)
            .iter()
            .filter(|_| !is_final && depth > 0)
        {
            let Some(parent) = self.deployments.get(parent) else {
                continue;
            };
            if parent.position == deployment.position {
                continue;
            }
            for (file, mut above) in self.homes(parent, depth.saturating_sub(1)) {
                above.insert(parent.object.name());
                let is_inside = paths::contains(&parent.folder, file);
                add(if is_inside { start } else { file }, above);
            }
        }
        if found.is_empty() || found.len() > MOST {
            found = vec![(home_of(object, start), BTreeSet::new())];
        }
        self.known.insert(deployment.position, found.clone());
        found
    }

    /// Returns the deployments of the deepest folder that contains a file.
    fn parents(&self, file: &str) -> Vec<usize> {
        let mut folders = paths::folders(file, self.height)
            .filter_map(|folder| self.by_folder.get(folder.as_str()));
        folders.next().cloned().unwrap_or_default()
    }
}

/// Returns the file from which an object is deployed, and whether a rendering has already decided that.
fn start<'t>(object: &Object<'t>) -> (&'t Arc<str>, bool) {
    match object.rendered_by {
        None => (object.location_file, false),
        Some(rendering) => match &rendering.deployed {
            None => (&rendering.root, false),
            Some((folder, _)) if !paths::contains(folder, object.location_file) => {
                (object.location_file, true)
            }
            Some(_) if is_kustomization(&rendering.root) => (&rendering.root, true),
            Some(_) => (object.path(), true),
        },
    }
}

/// Returns the file of an object that another file deploys, or that file if it is not in the same folder or above.
fn home_of<'t>(object: &Object<'t>, file: &'t Arc<str>) -> &'t Arc<str> {
    let folder = paths::folder(file).trim_end_matches('/');
    if paths::contains(folder, object.path()) {
        object.path()
    } else {
        file
    }
}

/// Names the environments: after their home, and after the object if a home has several.
fn name(deployments: &mut [Deployment<'_>]) {
    let mut ids: Vec<usize> = Vec::with_capacity(deployments.len());
    let mut known: HashMap<Identity<'_>, usize> = HashMap::new();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for deployment in &*deployments {
        let next = known.len();
        let id = *known.entry(identity(deployment)).or_insert(next);
        if id == next {
            *counts.entry(deployment.home).or_default() += 1;
        }
        ids.push(id);
    }
    let mut names: Vec<Option<Arc<str>>> = vec![None; known.len()];
    let mut used: HashMap<Arc<str>, usize> = HashMap::new();
    let named: Vec<Arc<str>> = deployments
        .iter()
        .zip(&ids)
        .map(|(deployment, id)| {
            if let Some(Some(name)) = names.get(*id) {
                return Arc::clone(name);
            }
            let is_shared = counts
                .get(&**deployment.home)
                .is_some_and(|count| *count > 1);
            let name = match is_shared {
                true => unused(&mut used, deployment),
                false => Arc::clone(deployment.home),
            };
            if let Some(entry) = names.get_mut(*id) {
                *entry = Some(Arc::clone(&name));
            }
            name
        })
        .collect();
    drop(known);
    for (deployment, name) in deployments.iter_mut().zip(named) {
        deployment.environment = name;
    }
}

/// Returns the name of an environment that no other one has. `used` contains how often each one was given.
fn unused(used: &mut HashMap<Arc<str>, usize>, deployment: &Deployment<'_>) -> Arc<str> {
    let name = deployment.object.name();
    let mut id: Arc<str> = environment_id(deployment.home, name).into();
    while let Some(number) = used.get_mut(&id) {
        *number += 1;
        let next = environment_id(deployment.home, &format!("{name}-{number}"));
        if !used.contains_key(&*next) {
            id = next.into();
            break;
        }
    }
    used.insert(Arc::clone(&id), 1);
    id
}

/// What distinguishes a deploying object from the others of its home.
type Identity<'d> = (&'d str, &'d str, usize, Option<&'d str>, &'d str, String);

fn identity<'d>(deployment: &'d Deployment<'_>) -> Identity<'d> {
    let object = &deployment.object;
    (
        deployment.home,
        object.path(),
        object.document.index,
        object.namespace(),
        object.name(),
        object.node.content(),
    )
}
