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

impl<'t> Context<'t> {
    /// Returns the policies of one scope that lie in one folder, or that one kustomization or
    /// deployment brings in, and that say different things. Policies that lie further apart may
    /// be for different clusters.
    #[must_use]
    pub fn contradictions(&self) -> Vec<Rivals<'_, 't>> {
        let mut groups: BTreeMap<_, Vec<(&Object<'t>, Reach)>> = BTreeMap::new();
        for policy in &self.inventory.peer_authentications {
            let key = (folder(policy.home()), self.namespace_of(policy).0);
            groups
                .entry(key)
                .or_default()
                .push((policy, self.reach(policy)));
        }
        let mut rivals = Vec::new();
        for ((_, namespace), group) in groups {
            if group.len() < 2 {
                continue;
            }
            let of = |wanted: Reach| -> Vec<&Object<'t>> {
                let found = group.iter().filter(|(_, reach)| *reach == wanted);
                found.map(|(policy, _)| *policy).collect()
            };
            rivals.extend(differing(of(Reach::Mesh), "the whole mesh".to_owned()));
            let scope = format!("namespace `{namespace}`");
            rivals.extend(differing(of(Reach::Namespace), scope));
            rivals.extend(self.selecting_alike(namespace, &of(Reach::Workloads)));
        }
        rivals
    }

    /// Policies that select one workload; the same set of them is said once.
    fn selecting_alike<'c>(
        &self,
        namespace: &str,
        policies: &[&'c Object<'t>],
    ) -> Vec<Rivals<'c, 't>> {
        if policies.len() < 2 {
            return Vec::new();
        }
        let address = |policy: &Object<'t>| from_ref(policy).addr();
        let group: HashMap<usize, &'c Object<'t>> = policies
            .iter()
            .map(|policy| (address(policy), *policy))
            .collect();
        let mut seen: BTreeSet<Vec<&str>> = BTreeSet::new();
        let mut seen_pods = HashSet::new();
        let all = &self.inventory.peer_authentications;
        // Policies select all pods of one file alike that have the same of the labels that they ask for.
        let is_new = |workload: &&Workload<'t>| {
            let object = &workload.object;
            let asked = all.asked_labels(namespace, workload.template.labels());
            let scope = self.memo.scope(object, self.namespace_of(object));
            seen_pods.insert((scope, asked))
        };
        let mut rivals = Vec::new();
        for workload in self.workloads_in(namespace).filter(is_new) {
            let selecting = self
                .beside_selecting(all, workload)
                .filter_map(|policy| group.get(&address(policy)).copied())
                .filter(|policy| self.reaches(policy, Reach::Workloads, workload));
            let found = differing(selecting.collect(), Workload::title(workload));
            rivals.extend(found.filter(|found| {
                let names = found.policies.iter().map(|policy| policy.name());
                seen.insert(names.collect())
            }));
        }
        rivals
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
