//! Decides which pods a policy applies to.
//!
//! Source: Istio 1.31, `pilot/pkg/model/authentication.go`, `pilot/pkg/model/authorization.go`,
//! `pilot/pkg/security/authn/policy_applier.go`.

use crate::kube::{Object, PeerAuthentication, Workload};
use crate::yaml::NodeRef;

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

impl<'t> Context<'t> {
    /// Returns which pods a `PeerAuthentication` applies to.
    #[must_use]
    pub fn policy_scope(&self, policy: &Object<'t>) -> PolicyScope {
        let is_root = self.is_in_root_namespace(policy);
        let selects = !PeerAuthentication::of(policy).selector().is_empty();
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
    pub fn policy_applies(
        &self,
        policy: &Object<'t>,
        policy_scope: PolicyScope,
        workload: &Workload<'t>,
    ) -> bool {
        match policy_scope {
            PolicyScope::Mesh => self
                .inventory
                .environments
                .may_apply(policy.location_file(), workload.object.location_file()),
            PolicyScope::Namespace => self.namespace_of(&workload.object).contains(policy),
            PolicyScope::Workloads => {
                self.namespace_of(&workload.object).contains(policy)
                    && PeerAuthentication::of(policy)
                        .selector()
                        .matches(workload.template.labels())
            }
            PolicyScope::None => false,
        }
    }

    /// Returns whether a policy is in the root namespace of its mesh.
    #[must_use]
    pub fn is_in_root_namespace(&self, policy: &Object<'t>) -> bool {
        self.namespace_of(policy).name == self.root_namespace_near(policy).value
    }

    /// Returns whether the tree contains the pods of a policy's namespace. It contains a workload of
    /// the namespace, with a folder that contains the policy or is below it. It contains nothing that
    /// may add pods from outside of the tree: an object of another tool, or a kustomization that is
    /// only partly rendered.
    #[must_use]
    pub fn shows_pods_of(&self, policy: &Object<'t>) -> bool {
        let is_there = |object: &Object<'t>| {
            self.namespace_of(object).contains(policy)
                && are_related(policy.location_file(), object.location_file())
        };
        let namespace = self.namespace_of(policy).name;
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
                || self.namespace_of(maker).contains(policy)
        };
        let inventory = &self.inventory;
        inventory
            .workloads_in(namespace)
            .any(|workload| is_there(&workload.object))
            && !inventory.pod_creators.iter().any(makes)
            && !self
                .unseen
                .iter()
                .any(|home| are_related(home, policy.location_file()))
    }
}
