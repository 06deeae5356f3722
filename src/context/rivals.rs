//! `PeerAuthentication`s of one scope, of which only the oldest holds.

use std::collections::{BTreeMap, BTreeSet};
use std::ptr::from_ref;

use hashbrown::{HashMap, HashSet};

use crate::kube::{Object, PeerAuthentication, Workload};
use crate::source::place::folder;
use crate::yaml::NodeRef;

use super::{Context, Reach};

/// Policies of one scope that say different things.
#[derive(Clone, Debug)]
pub struct Rivals<'c, 't> {
    /// The policies, by name: two at least.
    pub policies: Vec<&'c Object<'t>>,
    /// What they are for, in words: "namespace `shop`".
    pub scope: String,
}

/// The folder of a policy and its namespace.
type Scope<'k> = (&'k str, &'k str);
type Groups<'c, 'k, 't> = BTreeMap<Scope<'k>, Vec<(&'c Object<'t>, Reach)>>;
type Alike<'c, 'k, 't> = BTreeMap<Scope<'k>, Vec<Rivals<'c, 't>>>;

impl<'t> Context<'t> {
    /// Returns the policies of one scope that lie in one folder, or that one kustomization or
    /// deployment brings in, and that say different things. Policies that lie further apart may
    /// be for different clusters.
    #[must_use]
    pub fn contradictions(&self) -> Vec<Rivals<'_, 't>> {
        let mut groups = Groups::new();
        for policy in &self.inventory.peer_authentications {
            let key = (folder(policy.home()), self.namespace_of(policy).0);
            groups
                .entry(key)
                .or_default()
                .push((policy, self.reach(policy)));
        }
        let mut alike = self.selecting_alike(&groups);
        let mut rivals = Vec::new();
        for (key, group) in &groups {
            if group.len() < 2 {
                continue;
            }
            let of = |wanted: Reach| -> Vec<&Object<'t>> {
                let found = group.iter().filter(|(_, reach)| *reach == wanted);
                found.map(|(policy, _)| *policy).collect()
            };
            rivals.extend(differing(of(Reach::Mesh), "the whole mesh".to_owned()));
            let scope = format!("namespace `{}`", key.1);
            rivals.extend(differing(of(Reach::Namespace), scope));
            rivals.extend(alike.remove(key).unwrap_or_default());
        }
        rivals
    }

    /// Returns policies of one folder and namespace that select the same workload. Each set of policies is returned
    /// once per folder.
    fn selecting_alike<'c, 'k>(&'c self, groups: &Groups<'c, 'k, 't>) -> Alike<'c, 'k, 't> {
        let address = |policy: &Object<'t>| from_ref(policy).addr();
        let mut folders: HashMap<usize, (&'c Object<'t>, Scope<'k>)> = HashMap::new();
        for (scope, group) in groups {
            let selecting = group.iter().filter(|(_, reach)| *reach == Reach::Workloads);
            folders.extend(selecting.map(|(policy, _)| (address(policy), (*policy, *scope))));
        }
        let namespaces: BTreeSet<&str> = folders.values().map(|(_, scope)| scope.1).collect();
        let mut alike = Alike::new();
        let mut seen: HashSet<(Scope<'k>, Vec<&str>)> = HashSet::new();
        let all = &self.inventory.peer_authentications;
        for namespace in namespaces {
            let mut seen_pods = HashSet::new();
            // Policies select all pods of one file alike that have the same of the labels that they ask for.
            let is_new = |workload: &&Workload<'t>| {
                let object = &workload.object;
                let asked = all.asked_labels(namespace, workload.template.labels());
                let scope = self.memo.scope(object, self.namespace_of(object));
                seen_pods.insert((scope, asked))
            };
            for workload in self.workloads_in(namespace).filter(is_new) {
                let mut selecting: BTreeMap<Scope<'k>, Vec<&'c Object<'t>>> = BTreeMap::new();
                for policy in self.beside_selecting(all, workload) {
                    if let Some((policy, scope)) = folders.get(&address(policy))
                        && self.reaches(policy, Reach::Workloads, workload)
                    {
                        selecting.entry(*scope).or_default().push(policy);
                    }
                }
                for (scope, policies) in selecting {
                    let found = differing(policies, workload.title());
                    let found = found.filter(|found| {
                        let names = found.policies.iter().map(|policy| policy.name());
                        seen.insert((scope, names.collect()))
                    });
                    if let Some(found) = found {
                        alike.entry(scope).or_default().push(found);
                    }
                }
            }
        }
        alike
    }
}

/// Several objects of one name are one object of the cluster.
fn differing<'c, 't>(mut policies: Vec<&'c Object<'t>>, scope: String) -> Option<Rivals<'c, 't>> {
    policies.sort_by_key(|policy| policy.name());
    policies.dedup_by_key(|policy| policy.name());
    let mut effects = policies.iter().map(|policy| effect(policy));
    let first = effects.next()?;
    effects
        .any(|other| other != first)
        .then_some(Rivals { policies, scope })
}

/// What a policy says, whatever its name and selector.
fn effect<'t>(policy: &Object<'t>) -> Vec<(Option<i64>, &'t str)> {
    let view = PeerAuthentication::of(policy);
    let word = |mode: Option<NodeRef<'t>>| match mode.and_then(NodeRef::text) {
        Some("" | "null" | "~") | None => "UNSET",
        Some(word) => word,
    };
    let own = (None, word(view.mode().map(|mode| mode.value)));
    let ports = view
        .ports()
        .map(|one| (one.port, word(one.mode.map(|mode| mode.value))));
    let mut said: Vec<_> = std::iter::once(own).chain(ports).collect();
    said.sort_unstable();
    said
}
