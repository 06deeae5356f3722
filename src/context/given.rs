//! What the user settled for a workload: by option, in general, or for its files.

use std::path::Path;
use std::sync::Arc;

use globset::GlobSet;
use hashbrown::HashMap;

use crate::kube::Object;
use crate::settings::{Facts, Scope, Settings};

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
    /// For workloads in a scope, by home, kustomization and file.
    scoped: HashMap<Key<'t>, Given>,
}

impl<'t> Givens<'t> {
    /// Looks up the scopes of all workloads: facts are asked for all the time.
    pub(super) fn new(settings: &Settings, inventory: &Inventory<'t>) -> Self {
        let general = Given {
            assume: settings.assume.clone(),
            overrides: settings.overrides.clone(),
        };
        let mut scoped = HashMap::new();
        let scopes: Vec<(&Scope, GlobSet)> = settings
            .scopes
            .iter()
            .filter_map(|scope| Some((scope, GlobSet::new(&scope.paths).ok()?)))
            .collect();
        if !scopes.is_empty() {
            for subject in &inventory.workloads {
                let key = key(&subject.workload.object);
                scoped
                    .entry(key)
                    .or_insert_with(|| given(&general, &scopes, key));
            }
        }
        Self { general, scoped }
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
        let scoped = self.givens.scoped.get(&key(object));
        scoped.unwrap_or(&self.givens.general)
    }

    /// Returns the facts as they would be for the pods of `object` if `change` were settled too.
    /// They hold for these pods only.
    #[must_use]
    pub fn supposing(&self, object: &Object<'t>, change: impl FnOnce(&mut Facts)) -> Self {
        let mut given = self.given(object).clone();
        change(&mut given.overrides);
        Self {
            standings: Arc::default(),
            supposed: Some(Arc::new(given)),
            ..self.clone()
        }
    }
}

fn key<'t>(object: &Object<'t>) -> Key<'t> {
    let path = object.path();
    [object.home(), object.rendered_by.unwrap_or(path), path]
}

fn given(general: &Given, scopes: &[(&Scope, GlobSet)], key: Key<'_>) -> Given {
    let mut given = general.clone();
    for (scope, globs) in scopes {
        let holds = |shown: &str| {
            let path = scope.relative(shown);
            // A glob that matches a folder holds for all that lies in it.
            path.is_some_and(|path| path.ancestors().any(|part| is_match(globs, part)))
        };
        if key.into_iter().any(&holds) {
            given.assume = scope.assume.clone().over(given.assume);
            given.overrides = scope.overrides.clone().over(given.overrides);
        }
    }
    given
}

fn is_match(globs: &GlobSet, path: &Path) -> bool {
    !path.as_os_str().is_empty() && globs.is_match(path)
}
