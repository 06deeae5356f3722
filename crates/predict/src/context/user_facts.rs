//! Facts that the user set for a workload: by option, in general, or for its files.

use hashbrown::HashMap;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::settings::{FactOverrides, Scope, ScopeSet, Settings};

use crate::context::inventory::Inventory;

/// Facts that the user set.
#[derive(Clone, Debug, Default)]
pub struct UserFacts {
    /// Facts that apply if the tree does not state them.
    pub assume: FactOverrides,
    /// Facts that take precedence over the tree.
    pub overrides: FactOverrides,
}

/// The three places of a workload: where it is deployed, where it is rendered and where it is written.
type Key<'t> = [&'t str; 3];

/// The user's facts, by workload.
#[derive(Debug, Default)]
pub(super) struct UserFactsIndex<'t> {
    general: UserFacts,
    /// The facts of each combination of scopes that occurs in the tree.
    all: Vec<UserFacts>,
    /// The positions in `all`, by home, kustomization and file of workloads.
    scoped: HashMap<Key<'t>, usize>,
    /// The facts of selected pods: those of `general`, and of each entry of `all`, with the selected facts.
    selected: Option<(UserFacts, Vec<UserFacts>)>,
}

impl<'t> UserFactsIndex<'t> {
    /// Computes the facts of all workloads in advance, because they are looked up often.
    pub(super) fn new(settings: &Settings, inventory: &Inventory<'t>) -> Self {
        let general = UserFacts {
            assume: settings.assume.clone(),
            overrides: settings.overrides.clone(),
        };
        let scopes = ScopeSet::new(&settings.scopes);
        let mut by_scopes: HashMap<Vec<usize>, usize> = HashMap::new();
        let mut all: Vec<UserFacts> = Vec::new();
        let mut scoped = HashMap::new();
        let subjects = inventory.workloads.iter();
        for subject in subjects.filter(|_| !settings.scopes.is_empty()) {
            let key = key(&subject.workload.object);
            scoped.entry(key).or_insert_with(|| {
                let matching = matching(&scopes, key);
                *by_scopes.entry(matching).or_insert_with_key(|matching| {
                    let matching = matching.iter().filter_map(|at| settings.scopes.get(*at));
                    all.push(merge_scopes(&general, matching));
                    all.len() - 1
                })
            });
        }
        let selected = settings.selected.as_ref().map(|selected| {
            let with_selected = |facts: &UserFacts| UserFacts {
                assume: facts.assume.clone(),
                overrides: selected.overrides.clone().or(facts.overrides.clone()),
            };
            (
                with_selected(&general),
                all.iter().map(with_selected).collect(),
            )
        });
        Self {
            general,
            all,
            scoped,
            selected,
        }
    }

    /// Returns the facts for the pods of an object, which are selected or not.
    pub(super) fn of(&self, object: &Object<'t>, is_selected: bool) -> &UserFacts {
        let (general, all) = match &self.selected {
            Some((general, all)) if is_selected => (general, all),
            _ => (&self.general, &self.all),
        };
        let scoped = self.scoped.get(&key(object));
        scoped.and_then(|at| all.get(*at)).unwrap_or(general)
    }
}

fn key<'t>(object: &Object<'t>) -> Key<'t> {
    let path = object.path();
    [
        object.location_file(),
        object.rendered_by.map_or(path, |rendering| &rendering.root),
        path,
    ]
}

/// Returns the positions of the scopes that match one of these places, sorted.
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

fn merge_scopes<'s>(general: &UserFacts, scopes: impl Iterator<Item = &'s Scope>) -> UserFacts {
    let mut given = general.clone();
    for scope in scopes {
        given.assume = scope.assume.clone().or(given.assume);
        given.overrides = scope.overrides.clone().or(given.overrides);
    }
    given
}
