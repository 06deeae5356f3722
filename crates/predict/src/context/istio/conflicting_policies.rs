//! Finds `PeerAuthentication`s with the same scope, of which only the oldest takes effect.

use std::collections::{BTreeMap, BTreeSet};
use std::ptr::from_ref;

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::kube::{Object, PeerAuthentication, Workload};
use meshprobe_tree::source::Cluster;
use meshprobe_tree::source::paths::folder;
use meshprobe_yaml::NodeRef;

use crate::context::istio::facets::PeerAuthentications;
use crate::context::istio::policy_scope::PolicyScope;

/// Policies with the same scope and different effects.
#[derive(Clone, Debug)]
pub struct ConflictingPolicies<'c, 't> {
    /// The policies, sorted by name; at least two.
    pub policies: Vec<&'c Object<'t>>,
    /// A description of their scope: "namespace `shop`".
    pub scope: String,
}

/// The folder of a policy, its namespace, and the remote cluster to which it is deployed.
type FolderNamespace<'k> = (&'k str, &'k str, Option<&'k Cluster>);

type Groups<'c, 'k, 't> = BTreeMap<FolderNamespace<'k>, Vec<(&'c Object<'t>, PolicyScope)>>;

type ConflictsByScope<'c, 'k, 't> = BTreeMap<FolderNamespace<'k>, Vec<ConflictingPolicies<'c, 't>>>;

impl<'c, 't> PeerAuthentications<'c, 't> {
    /// Returns the policies with the same scope and different effects that are in one folder, or that
    /// one kustomization or deployment includes. Other policies may be for different clusters.
    #[must_use]
    pub fn conflicts(self) -> Vec<ConflictingPolicies<'c, 't>> {
        let mut groups = Groups::new();
        for policy in &self.context.inventory.peer_authentications {
            let cluster = policy.cluster.as_deref();
            let key = (
                folder(policy.location_file()),
                self.context.namespace_of(policy).name,
                cluster.filter(|cluster| !cluster.is_own()),
            );
            groups
                .entry(key)
                .or_default()
                .push((policy, self.context.istio_policy(policy).scope()));
        }
        let mut by_selector = self.conflicts_by_selector(&groups);
        let mut conflicting = Vec::new();
        for (key, group) in &groups {
            if group.len() < 2 {
                continue;
            }
            let of = |wanted: PolicyScope| -> Vec<&Object<'t>> {
                group
                    .iter()
                    .filter(|(_, policy_scope)| *policy_scope == wanted)
                    .map(|(policy, _)| *policy)
                    .collect()
            };
            conflicting.extend(differing(
                of(PolicyScope::Mesh),
                "the whole mesh".to_owned(),
            ));
            let scope = format!("namespace `{}`", key.1);
            conflicting.extend(differing(of(PolicyScope::Namespace), scope));
            conflicting.extend(by_selector.remove(key).unwrap_or_default());
        }
        conflicting
    }

    /// Returns policies of one folder and namespace that select the same workload. Each set of policies
    /// is returned once per folder.
    fn conflicts_by_selector<'k>(
        self,
        groups: &Groups<'c, 'k, 't>,
    ) -> ConflictsByScope<'c, 'k, 't> {
        let address = |policy: &Object<'t>| from_ref(policy).addr();
        let mut folders: HashMap<usize, (&'c Object<'t>, FolderNamespace<'k>)> = HashMap::new();
        for (scope, group) in groups {
            let selecting = group
                .iter()
                .filter(|(_, policy_scope)| *policy_scope == PolicyScope::Workloads);
            folders.extend(selecting.map(|(policy, _)| (address(policy), (*policy, *scope))));
        }
        let namespaces: BTreeSet<&str> = folders.values().map(|(_, scope)| scope.1).collect();
        let mut by_selector = ConflictsByScope::new();
        let mut seen: HashSet<(FolderNamespace<'k>, Vec<&str>)> = HashSet::new();
        let all = &self.context.inventory.peer_authentications;
        for namespace in namespaces {
            let mut seen_pods = HashSet::new();
            // The same policies select all pods of a file whose labels are equal, as far as selectors name
            // these labels.
            let is_new = |workload: &&Workload<'t>| {
                let object = &workload.object;
                let selector_labels = all.selector_labels(namespace, workload.template.labels());
                let scope = self.context.namespace_of(object).key();
                seen_pods.insert((scope, selector_labels))
            };
            for workload in self
                .context
                .inventory
                .workloads_in(namespace)
                .filter(is_new)
            {
                let mut selecting: BTreeMap<FolderNamespace<'k>, Vec<&'c Object<'t>>> =
                    BTreeMap::new();
                for policy in self
                    .context
                    .namespace_of(&workload.object)
                    .facts_selecting(all, workload)
                {
                    if let Some((policy, scope)) = folders.get(&address(policy))
                        && self
                            .context
                            .istio_policy(policy)
                            .applies_to(PolicyScope::Workloads, workload)
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
                        by_selector.entry(scope).or_default().push(found);
                    }
                }
            }
        }
        by_selector
    }
}

/// Returns the policies if their effects differ. Several objects with one name count as one object of
/// the cluster.
fn differing<'c, 't>(
    mut policies: Vec<&'c Object<'t>>,
    scope: String,
) -> Option<ConflictingPolicies<'c, 't>> {
    policies.sort_by_key(|policy| policy.name());
    policies.dedup_by_key(|policy| policy.name());
    let mut effects = policies.iter().map(|policy| effect(policy));
    let first = effects.next()?;
    effects
        .any(|other| other != first)
        .then_some(ConflictingPolicies { policies, scope })
}

/// Returns the modes that a policy sets, by port, sorted; its name and selector do not matter.
fn effect<'t>(policy: &Object<'t>) -> Vec<(Option<i64>, &'t str)> {
    let view = PeerAuthentication::of(policy);
    let word = |mode: Option<NodeRef<'t>>| match mode.and_then(NodeRef::text) {
        Some("" | "null" | "~") | None => "UNSET",
        Some(word) => word,
    };
    let own = (None, word(view.mode().map(|mode| mode.value)));
    let ports = view
        .ports()
        .map(|port_mode| (port_mode.port, word(port_mode.mode.map(|mode| mode.value))));
    let mut modes: Vec<_> = std::iter::once(own).chain(ports).collect();
    modes.sort_unstable();
    modes
}
