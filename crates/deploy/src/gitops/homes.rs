//! Homes of deployments: where an app of apps begins, and which environment each object deploys.
//!
//! The objects of a folder are near to the file with the object that deploys it. If another folder contains that file,
//! and an object elsewhere deploys this folder, they are near to the file of that object: the workloads of Applications
//! in `argocd/apps` that `clusters/us1/root.yaml` deploys belong to `clusters/us1`. A root that deploys the folder in which
//! it is adds no other place, and neither does a file above the deployed one.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::finding::environment_id;
use meshprobe_mesh::kube::Object;
use meshprobe_tree::source::{is_kustomization, paths};

use crate::gitops::deployment::Deployment;

/// The most homes of one object. Objects with more keep their own file.
const MOST: usize = 64;

/// The most objects between a workload and its root that are followed.
const DEPTH: usize = 32;

/// A home, and the names of the objects through which it deploys.
type Home<'t> = (&'t Arc<str>, BTreeSet<&'t str>);

/// Sets the homes and environments of deployments. An object that several homes deploy becomes one deployment for each.
pub(super) fn resolve(found: Vec<Deployment<'_>>) -> Vec<Deployment<'_>> {
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
type Identity<'d> = (&'d str, &'d str, usize, Option<&'d str>, &'d str, &'d str);

fn identity<'d>(deployment: &'d Deployment<'_>) -> Identity<'d> {
    let object = &deployment.object;
    (
        deployment.home,
        object.path(),
        object.document.index,
        object.namespace(),
        object.name(),
        object.node.source(),
    )
}
