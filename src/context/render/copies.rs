//! Folders that Flux and Argo CD deploy unmodified: a copy of all objects for each file and namespace that they go to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::HashSet;

use crate::kube::{Object, Workload};
use crate::source::{SourceSet, place};

use super::super::deployment::Deployment;
use super::budget::{self, Budget};
use super::deployed::build;
use super::limit::Limit;
use super::{Deployed, Rendering};

/// Counts the copies of folders that several deployments of `all` deploy, but for those in `rendered`, which are rendered
/// for each deployment. `own` are the renderings of kustomizations. Returns renderings without objects for the folders
/// whose copies exceed the budget, one for each file that deploys them: their objects are then checked once.
pub(super) fn beyond_memory(
    sources: &SourceSet,
    budget: &Budget,
    own: &[Rendering],
    all: &[Deployment<'_>],
    rendered: &[&Deployment<'_>],
) -> Vec<Rendering> {
    let rendered: BTreeSet<&str> = rendered.iter().map(|one| one.folder.as_str()).collect();
    let mut by_folder: BTreeMap<&str, Vec<&Deployment<'_>>> = BTreeMap::new();
    for one in all {
        if !rendered.contains(one.folder.as_str()) {
            by_folder.entry(&one.folder).or_default().push(one);
        }
    }
    let mut found = Vec::new();
    for (folder, deployments) in by_folder {
        let targets: BTreeSet<_> = deployments.iter().map(|one| one.target()).collect();
        let copies = || size(sources, folder, own).saturating_mul(targets.len());
        if targets.len() > 1 && !budget.hold(copies()) {
            let mut files = HashSet::new();
            let each = deployments.into_iter();
            let each = each.filter(|one| files.insert(Arc::clone(one.object.path())));
            found.extend(each.map(left_out));
        }
    }
    found
}

/// Estimates what one copy of the objects of a folder holds: of its files, and of what its kustomizations render.
fn size(sources: &SourceSet, top: &str, own: &[Rendering]) -> usize {
    let own: Vec<&Rendering> = own
        .iter()
        .filter(|one| place::contains(top, &one.root))
        .collect();
    let used: HashSet<(&str, usize)> = own
        .iter()
        .flat_map(|one| &one.used)
        .map(|(path, index)| (&**path, *index))
        .collect();
    let documents = sources.files_in(top).flat_map(|file| &file.documents);
    let plain = documents
        .filter(|one| !one.patch && !used.contains(&(&*one.path, one.index)))
        .flat_map(Object::all_in);
    let rendered = own.iter().flat_map(|one| one.objects());
    plain.chain(rendered).map(|object| of_object(&object)).sum()
}

fn of_object(object: &Object<'_>) -> usize {
    match Workload::from_object(object) {
        Some(_) => budget::POD,
        None => budget::OTHER,
    }
}

fn left_out(one: &Deployment<'_>) -> Rendering {
    let path = one.object.path();
    let deployed = Deployed {
        file: Arc::clone(path),
        folder: one.folder.clone(),
        build: build(one),
        destination: None,
    };
    Rendering::without_objects(Arc::clone(path), Some(deployed), Limit::Memory)
}
