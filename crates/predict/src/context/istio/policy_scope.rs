//! Decides which pods a policy applies to.
//!
//! Source: Istio 1.31, `pilot/pkg/model/authentication.go`, `pilot/pkg/model/authorization.go`,
//! `pilot/pkg/security/authn/policy_applier.go`.

use meshprobe_mesh::kube::{Object, PeerAuthentication, Workload};
use meshprobe_yaml::NodeRef;

use crate::context::istio::facets::IstioPolicy;
use crate::context::nearest::are_related;

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
