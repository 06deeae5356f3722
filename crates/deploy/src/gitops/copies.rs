//! Folders that Flux and Argo CD deploy unmodified: one copy of all objects for each home and namespace.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashSet;
use meshprobe_mesh::kube::{Object, Workload};
use meshprobe_tree::source::limits::ValueCount;
use meshprobe_tree::source::{SourceSet, paths};

use crate::gitops::deployment::{Deployment, deployed, id};
use crate::kustomize::limit::{self, Limit};
use crate::kustomize::{Deployed, Rendering};

/// Counts the copies of folders that several deployments of `all` deploy, except for folders of
/// `rendered`, which are rendered for each deployment. `own` are the renderings of kustomizations. Returns renderings
/// without objects for the folders whose copies exceed the limit, one for each home: their objects are then
/// checked only once.
pub(crate) fn beyond_limit(
    sources: &SourceSet,
    count: &ValueCount,
    own: &[Rendering],
    all: &[Deployment<'_>],
    rendered: &[&Deployment<'_>],
) -> Vec<Rendering> {
    let rendered: BTreeSet<&str> = rendered
        .iter()
        .map(|deployment| deployment.folder.as_str())
        .collect();
    let mut by_folder: BTreeMap<&str, Vec<&Deployment<'_>>> = BTreeMap::new();
    for deployment in all {
        if !rendered.contains(deployment.folder.as_str()) {
            by_folder
                .entry(&deployment.folder)
                .or_default()
                .push(deployment);
        }
    }
    let mut found = Vec::new();
    for (folder, deployments) in by_folder {
        let targets: BTreeSet<_> = deployments
            .iter()
            .map(|deployment| deployment.target())
            .collect();
        let copies = || size(sources, folder, own).saturating_mul(targets.len());
        if targets.len() > 1 && !count.add(copies()) {
            let mut files = HashSet::new();
            found.extend(
                deployments
                    .into_iter()
                    .filter(|deployment| files.insert(deployment.home))
                    .map(left_out),
            );
        }
    }
    found
}

/// Returns what one copy counts of the objects of a folder: those of its files, and those that its kustomizations
/// render.
fn size(sources: &SourceSet, top: &str, own: &[Rendering]) -> usize {
    let own: Vec<&Rendering> = own
        .iter()
        .filter(|rendering| paths::contains(top, &rendering.id.root))
        .collect();
    let used: HashSet<(&str, usize)> = own
        .iter()
        .flat_map(|rendering| rendering.used.iter())
        .map(|(path, index)| (&**path, *index))
        .collect();
    let plain = sources
        .files_in(top)
        .flat_map(|file| &file.documents)
        .filter(|document| !document.patch && !used.contains(&(&*document.path, document.index)))
        .flat_map(Object::all_in);
    let rendered = own.iter().flat_map(|rendering| rendering.objects());
    plain
        .chain(rendered)
        .map(|object| object_size(&object))
        .sum()
}

fn object_size(object: &Object<'_>) -> usize {
    match Workload::from_object(object) {
        Some(_) => limit::POD,
        None => limit::OTHER,
    }
}

fn left_out(deployment: &Deployment<'_>) -> Rendering {
    let path = deployment.object.path();
    let deployed = Deployed {
        destination: None,
        ..deployed(deployment)
    };
    Rendering::without_objects(id(deployment, path), Some(deployed), Limit::All)
}
