//! Whom a policy is for.
//!
//! Source: Istio 1.31, `pilot/pkg/model/authentication.go`, `pilot/pkg/model/authorization.go`,
//! `pilot/pkg/security/authn/policy_applier.go`.

use crate::kube::{Object, PeerAuthentication, Workload};
use crate::yaml::NodeRef;

use super::Context;
use super::inventory::are_related;

/// Whom a `PeerAuthentication` is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// The whole mesh: no selector, in the root namespace.
    Mesh,
    /// Its namespace.
    Namespace,
    /// The workloads of its namespace that carry its labels.
    Workloads,
    /// Nobody: a selector in the root namespace is ignored.
    Nobody,
}

impl<'t> Context<'t> {
    /// Tells whom a `PeerAuthentication` is for.
    #[must_use]
    pub fn reach(&self, policy: &Object<'t>) -> Reach {
        let is_root = self.is_in_root_namespace(policy);
        let selects = !PeerAuthentication::of(policy).selector().is_empty();
        match (is_root, selects) {
            (true, false) => Reach::Mesh,
            (true, true) => Reach::Nobody,
            (false, false) => Reach::Namespace,
            (false, true) => Reach::Workloads,
        }
    }

    /// Tells whether a `PeerAuthentication` with this reach is for the pods of `workload`, unless
    /// one of narrower or equal scope comes before it.
    #[must_use]
    pub fn reaches(&self, policy: &Object<'t>, reach: Reach, workload: &Workload<'t>) -> bool {
        match reach {
            Reach::Mesh => self
                .inventory
                .forks
                .join(policy.home(), workload.object.home()),
            Reach::Namespace => self.shares_namespace(policy, &workload.object),
            Reach::Workloads => {
                self.shares_namespace(policy, &workload.object)
                    && PeerAuthentication::of(policy)
                        .selector()
                        .matches(workload.template.labels())
            }
            Reach::Nobody => false,
        }
    }

    /// Tells whether a policy stands in the root namespace of its mesh.
    #[must_use]
    pub fn is_in_root_namespace(&self, policy: &Object<'t>) -> bool {
        self.namespace_of(policy).0 == self.root_namespace_near(policy).value
    }

    /// Tells whether the tree shows the pods of a policy's namespace: it holds a workload of it
    /// along one line of folders with the policy, and nothing there that may bring pods which are
    /// not in the tree: an object of another tool, or a kustomization that is not followed.
    #[must_use]
    pub fn shows_pods_of(&self, policy: &Object<'t>) -> bool {
        let is_there = |object: &Object<'t>| {
            self.shares_namespace(policy, object) && are_related(policy.home(), object.home())
        };
        let (namespace, _) = self.namespace_of(policy);
        let makes = |maker: &Object<'t>| {
            let spec = maker.node.get("spec");
            let field = |key: &str| spec.and_then(|spec| spec.get(key));
            let place = field("destination").and_then(|place| place.get("namespace"));
            let targets = [field("targetNamespace"), place];
            let mut targets = targets.into_iter().flatten().filter_map(NodeRef::text);
            targets.any(|target| target == namespace) || self.shares_namespace(policy, maker)
        };
        let inventory = &self.inventory;
        self.workloads_in(namespace)
            .any(|workload| is_there(&workload.object))
            && !inventory.makers.iter().any(makes)
            && !self
                .unseen
                .iter()
                .any(|home| are_related(home, policy.home()))
    }
}
