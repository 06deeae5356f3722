//! What the user settled for a workload: by option, in general, or for its files.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::kube::Object;
use crate::settings::{Facts, Scope, ScopeSet, Settings};

use super::Context;
use super::inventory::Inventory;

/// What the user settled.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Fills gaps of the tree.
    pub assume: Facts,
    /// Wins over the tree.
    pub overrides: Facts,
}

/// A workload belongs to where it is deployed, to where it is rendered and to where it is written.
type Key<'t> = [&'t str; 3];

/// What is given for whom.
#[derive(Debug, Default)]
pub(super) struct Givens<'t> {
    general: Given,
    /// What the scopes of the tree give together, each combination once.
    all: Vec<Given>,
    /// The place of what is given for workloads, by home, kustomization and file.
    scoped: HashMap<Key<'t>, usize>,
}

impl<'t> Givens<'t> {
    /// Looks up the scopes of all workloads: facts are asked for all the time.
    pub(super) fn new(settings: &Settings, inventory: &Inventory<'t>) -> Self {
        let general = Given {
            assume: settings.assume.clone(),
            overrides: settings.overrides.clone(),
        };
        let scopes = ScopeSet::new(&settings.scopes);
        let mut by_scopes: HashMap<Vec<usize>, usize> = HashMap::new();
        let mut all: Vec<Given> = Vec::new();
        let mut scoped = HashMap::new();
        let subjects = inventory.workloads.iter();
        for subject in subjects.filter(|_| !settings.scopes.is_empty()) {
            let key = key(&subject.workload.object);
            scoped.entry(key).or_insert_with(|| {
                let matching = matching(&scopes, key);
                *by_scopes.entry(matching).or_insert_with_key(|matching| {
                    let matching = matching.iter().filter_map(|at| settings.scopes.get(*at));
                    all.push(given(&general, matching));
                    all.len() - 1
                })
            });
        }
        Self {
            general,
            all,
            scoped,
        }
    }
}

impl<'t> Context<'t> {
    /// Returns what the user settled for the pods of an object: scopes lie over what is said in
    /// general, later ones over earlier ones.
    #[must_use]
    pub fn given(&self, object: &Object<'t>) -> &Given {
        if let Some(supposed) = &self.supposed {
            return supposed;
        }
        let givens = &self.givens;
        let scoped = givens.scoped.get(&key(object));
        let scoped = scoped.and_then(|at| givens.all.get(*at));
        scoped.unwrap_or(&givens.general)
    }

    /// Returns the facts as they would be for the pods of `object` if `change` were settled too.
    /// They hold for these pods only.
    #[must_use]
    pub fn supposing(&self, object: &Object<'t>, change: impl FnOnce(&mut Facts)) -> Self {
        let mut given = self.given(object).clone();
        change(&mut given.overrides);
        Self {
            standings: Arc::default(),
            redirects: Arc::default(),
            supposed: Some(Arc::new(given)),
            ..self.clone()
        }
    }
}

fn key<'t>(object: &Object<'t>) -> Key<'t> {
    let path = object.path();
    [object.home(), object.rendered_by.unwrap_or(path), path]
}

/// Returns the scopes of what is deployed, rendered and written at these places.
fn matching(scopes: &ScopeSet<'_>, key: Key<'_>) -> Vec<usize> {
    let [home, rendered_by, path] = key;
    let mut found = scopes.matching(home);
    let others = [rendered_by, path].into_iter();
    for other in others.filter(|other| *other != home) {
        found.extend(scopes.matching(other));
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn given<'s>(general: &Given, scopes: impl Iterator<Item = &'s Scope>) -> Given {
    let mut given = general.clone();
    for scope in scopes {
        given.assume = scope.assume.clone().over(given.assume);
        given.overrides = scope.overrides.clone().over(given.overrides);
    }
    given
}
