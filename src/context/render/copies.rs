//! Folders that Flux and Argo CD deploy as they stand: a copy of all objects for each namespace and place that they go
//! to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::kube::{Object, Workload};
use crate::source::SourceSet;

use super::super::deployment::Deployment;
use super::budget::{self, Budget};
use super::limit::Limit;
use super::{Deployed, Rendering};

/// Counts the copies of folders that several of `deployments` deploy. Returns a rendering without objects for each
/// folder whose copies exceed the budget: its files are then judged once, as they are written.
pub(super) fn beyond_memory(
    sources: &SourceSet,
    budget: &Budget,
    deployments: &[&Deployment<'_>],
    build: impl Fn(&Deployment<'_>) -> String,
) -> Vec<Rendering> {
    let mut by_folder: BTreeMap<&str, Vec<&Deployment<'_>>> = BTreeMap::new();
    for one in deployments {
        by_folder.entry(&one.folder).or_default().push(one);
    }
    let exceeds = |folder: &str, deployments: &[&Deployment<'_>]| {
        let targets: BTreeSet<_> = deployments.iter().map(|one| one.target()).collect();
        targets.len() > 1 && !budget.hold(size(sources, folder).saturating_mul(targets.len()))
    };
    let by_folder = by_folder.into_iter();
    let beyond = by_folder.filter(|(folder, deployments)| exceeds(folder, deployments));
    beyond
        .filter_map(|(_, deployments)| Some(left_out(deployments.first()?, &build)))
        .collect()
}

/// Estimates what one copy of the objects of a folder holds.
fn size(sources: &SourceSet, folder: &str) -> usize {
    let files = sources.files_in(folder);
    let documents = files.flat_map(|file| &file.documents);
    let objects = documents
        .filter(|document| !document.patch)
        .flat_map(Object::all_in);
    let sizes = objects.map(|object| match Workload::from_object(&object) {
        Some(_) => budget::POD,
        None => budget::OTHER,
    });
    sizes.sum()
}

fn left_out(one: &Deployment<'_>, build: impl Fn(&Deployment<'_>) -> String) -> Rendering {
    let path = one.object.path();
    Rendering {
        root: Arc::clone(path),
        deployed: Some(Deployed {
            file: Arc::clone(path),
            folder: one.folder.clone(),
            build: build(one),
            destination: None,
        }),
        documents: Vec::new(),
        used: BTreeSet::new(),
        patches: BTreeSet::new(),
        notes: Vec::new(),
        is_open: true,
        left_out: Some(Limit::Memory),
        held: 0,
    }
}
