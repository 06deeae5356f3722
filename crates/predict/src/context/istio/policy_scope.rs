//! Decides which pods a policy applies to, and finds `PeerAuthentication`s with the same scope, of which only the oldest takes
//! effect.
//!
//! Source: Istio 1.31, `pilot/pkg/model/authentication.go`, `pilot/pkg/model/authorization.go`,
//! `pilot/pkg/security/authn/policy_applier.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::ptr::from_ref;

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::kube::{Object, PeerAuthentication, Workload, selects_workload};
use meshprobe_mesh::mesh::Fact;
use meshprobe_tree::source::Cluster;
use meshprobe_tree::source::paths::folder;
use meshprobe_yaml::NodeRef;

use crate::context::inventory::inbound_patch;
use crate::context::istio::pod_facts::PodFacts;
use crate::context::nearest::are_related;
use crate::context::run_context::Context;

/// The pods that a `PeerAuthentication` applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PolicyScope {
    /// The whole mesh: no selector, in the root namespace.
    Mesh,
    /// The pods of its namespace.
    Namespace,
    /// The workloads of its namespace that its selector matches.
    Workloads,
    /// No pod: Istio ignores a selector in the root namespace.
    None,
}

/// A policy of Istio, such as the pods to which it applies and the settings that it inherits.
#[derive(Clone, Copy, Debug)]
pub struct IstioPolicy<'c, 't> {
    pub(in crate::context) context: &'c Context<'t>,
    pub(in crate::context) policy: &'c Object<'t>,
}

impl<'c, 't> IstioPolicy<'c, 't> {
    /// Returns which pods a `PeerAuthentication` applies to.
    #[must_use]
    pub fn scope(self) -> PolicyScope {
        let is_root = self.is_in_root_namespace();
        let selects = !PeerAuthentication::of(self.policy).selector().is_empty();
        match (is_root, selects) {
            (true, false) => PolicyScope::Mesh,
            (true, true) => PolicyScope::None,
            (false, false) => PolicyScope::Namespace,
            (false, true) => PolicyScope::Workloads,
        }
    }

    /// Returns whether a `PeerAuthentication` with this scope applies to the pods of `workload`, unless
    /// one of narrower or equal scope takes precedence.
    #[must_use]
    pub fn applies_to(self, policy_scope: PolicyScope, workload: &Workload<'t>) -> bool {
        match policy_scope {
            PolicyScope::Mesh => {
                let environments = &self.context.inventory.environments;
                environments.may_apply(self.policy.location_file(), workload.object.location_file())
                    && environments.deployed_may_apply(&workload.object)(self.policy)
            }
            PolicyScope::Namespace => self
                .context
                .namespace_of(&workload.object)
                .contains(self.policy),
            PolicyScope::Workloads => {
                self.context
                    .namespace_of(&workload.object)
                    .contains(self.policy)
                    && PeerAuthentication::of(self.policy)
                        .selector()
                        .matches(workload.template.labels())
            }
            PolicyScope::None => false,
        }
    }

    /// Returns whether a policy is in the root namespace of its mesh.
    #[must_use]
    pub fn is_in_root_namespace(self) -> bool {
        self.context.namespace_of(self.policy).name
            == self.context.istio_near(self.policy).root_namespace().value
    }

    /// Returns whether the tree contains the pods of a policy's namespace. It contains a workload of
    /// the namespace, with a folder that contains the policy or is below it. It contains nothing that
    /// may add pods from outside of the tree: an object of another tool, or a kustomization that is
    /// only partly rendered.
    #[must_use]
    pub fn shows_pods(self) -> bool {
        let is_there = |object: &Object<'t>| {
            self.context.namespace_of(object).contains(self.policy)
                && are_related(self.policy.location_file(), object.location_file())
        };
        let namespace = self.context.namespace_of(self.policy).name;
        let makes = |maker: &Object<'t>| {
            let spec = maker.node.get("spec");
            let field = |key: &str| spec.and_then(|spec| spec.get(key));
            let place = field("destination").and_then(|place| place.get("namespace"));
            let targets = [field("targetNamespace"), place];
            targets
                .into_iter()
                .flatten()
                .filter_map(NodeRef::text)
                .any(|target| target == namespace)
                || self.context.namespace_of(maker).contains(self.policy)
        };
        let inventory = &self.context.inventory;
        inventory
            .workloads_in(namespace)
            .any(|workload| is_there(&workload.object))
            && !inventory.pod_creators.iter().any(makes)
            && !self
                .context
                .unseen
                .iter()
                .any(|home| are_related(home, self.policy.location_file()))
    }
}

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

impl<'t> Context<'t> {
    /// Returns the facts about a policy of Istio.
    #[must_use]
    pub const fn istio_policy<'c>(&'c self, policy: &'c Object<'t>) -> IstioPolicy<'c, 't> {
        IstioPolicy {
            context: self,
            policy,
        }
    }

    /// Returns the policies with the same scope and different effects that are in one folder, or that
    /// one kustomization or deployment includes. Other policies may be for different clusters.
    #[must_use]
    pub fn conflicting_policies(&self) -> Vec<ConflictingPolicies<'_, 't>> {
        let mut groups = Groups::new();
        for policy in &self.inventory.peer_authentications {
            let cluster = policy.cluster.as_deref();
            let key = (
                folder(policy.location_file()),
                self.namespace_of(policy).name,
                cluster.filter(|cluster| !cluster.is_own()),
            );
            groups
                .entry(key)
                .or_default()
                .push((policy, self.istio_policy(policy).scope()));
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
    fn conflicts_by_selector<'c, 'k>(
        &'c self,
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
        let all = &self.inventory.peer_authentications;
        for namespace in namespaces {
            for workload in self.inventory.workloads_in(namespace) {
                let mut selecting: BTreeMap<FolderNamespace<'k>, Vec<&'c Object<'t>>> =
                    BTreeMap::new();
                for policy in self
                    .namespace_of(&workload.object)
                    .facts_selecting(all, workload)
                {
                    if let Some((policy, scope)) = folders.get(&address(policy))
                        && self
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

/// What settles the effect of a patch, because no option does.
const SETTLE: &str = "no option settles this: test the probe in a cluster";

impl<'c, 't> PodFacts<'c, 't> {
    /// Returns the first `EnvoyFilter` that patches inbound filter chains of the pods of `workload`. It is
    /// assumed not to change the filter chains of the probe.
    #[must_use]
    pub fn inbound_filter(&self) -> Option<Fact<()>> {
        let labels = self.workload.template.labels();
        let filters = self
            .context
            .inventory
            .inbound_filters
            .selecting_in_either("", "", labels);
        let filter = filters
            .into_iter()
            .find(|filter| self.context.istio_policy(filter).filters(self.workload))?;
        let (_, place) = inbound_patch(filter)?;
        let message = format!("EnvoyFilter `{}` patches inbound traffic", filter.name());
        let harmless = "the EnvoyFilter does not change the filter chains of the probe";
        let harmless = Fact::assumed((), harmless, Some(SETTLE));
        Some(Fact::known((), filter.label_at(place.span(), message)).depending_on(&harmless))
    }
}

impl<'c, 't> IstioPolicy<'c, 't> {
    /// Returns whether an `EnvoyFilter` applies to the pods of `workload`: to those of its namespace, or
    /// to all pods if it is in the root namespace, that its selector matches.
    #[must_use]
    pub fn filters(self, workload: &Workload<'t>) -> bool {
        let policy_scope = if self.is_in_root_namespace() {
            PolicyScope::Mesh
        } else {
            PolicyScope::Namespace
        };
        self.applies_to(policy_scope, workload) && selects_workload(self.policy, workload)
    }
}
