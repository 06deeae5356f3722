//! Decides whether a `NetworkPolicy` blocks the connections of the kubelet to a pod.
//!
//! Source: the Kubernetes API of `networking.k8s.io/v1`: policies are additive, and a pod that a policy
//! selects for ingress admits only connections that a rule allows.

use meshprobe_mesh::kube::{Object, Requirements, Workload};
use meshprobe_mesh::mesh::Fact;
use meshprobe_yaml::NodeRef;

use super::isolating::{IsolatingPolicies, Source};
use crate::context::namespace_index::Unselective;
use crate::context::run_context::Context;

/// The NetworkPolicies of a workload.
#[derive(Clone, Copy, Debug)]
pub struct NetworkPolicies<'c, 't> {
    context: &'c Context<'t>,
    workload: &'c Workload<'t>,
}

impl<'t> Context<'t> {
    /// Returns the NetworkPolicies in the namespace of a workload.
    #[must_use]
    pub const fn network_policies<'c>(
        &'c self,
        workload: &'c Workload<'t>,
    ) -> NetworkPolicies<'c, 't> {
        NetworkPolicies {
            context: self,
            workload,
        }
    }
}

impl<'c, 't> NetworkPolicies<'c, 't> {
    /// Returns the NetworkPolicies that isolate the pods of `workload`.
    #[must_use]
    pub fn isolating(self) -> IsolatingPolicies<'c, 't> {
        let inventory = &self.context.inventory;
        let all = &inventory.network_policies;
        let object = &self.workload.object;
        let namespace = self.context.namespace_of(object);
        let labels = self.workload.template.labels();
        let isolations = &self.context.isolations;
        let class = (
            namespace.key(),
            all.selector_labels(namespace.name, labels),
            isolations.expression_labels(all, labels),
        );
        let isolation = isolations.of(class, || {
            let home = object.location_file();
            let labels = (labels, Unselective::Included);
            let is_deployed_there = inventory.environments.deployed_may_apply(object);
            all.near_selecting(namespace.name, labels, &inventory.environments, home)
                .filter(|(_, policy)| namespace.is_that_of(policy) && is_deployed_there(policy))
                .filter(|(_, policy)| isolates(policy, self.workload))
                .map(|(position, _)| position)
                .collect()
        });
        IsolatingPolicies {
            all,
            workload: self.workload,
            isolation,
        }
    }

    /// Returns whether the NetworkPolicies of the tree admit a connection from `source` to `port` of the
    /// pods of `workload`. If no policy isolates the pod, all connections are admitted.
    #[must_use]
    pub fn admit(self, source: Source, port: i64) -> Fact<bool> {
        let isolating = self.isolating();
        let Some(first) = isolating.all().next() else {
            return Fact::settled(true, "no NetworkPolicy isolates the pod");
        };
        match isolating.admitting(Some(source), port) {
            Some(policy) => {
                let message = format!("NetworkPolicy `{}` admits {source}", policy.name());
                Fact::known(true, policy.label_at(policy.name_span(), message))
            }
            None => {
                let message = format!("NetworkPolicy `{}` does not admit {source}", first.name());
                Fact::known(false, first.label_at(first.name_span(), message))
            }
        }
    }
}

/// Returns whether a policy selects the pods of a `workload` of its namespace for ingress. A policy
/// applies to ingress unless `policyTypes` omits it.
fn isolates(policy: &Object<'_>, workload: &Workload<'_>) -> bool {
    let Some(spec) = policy.node.get("spec") else {
        return false;
    };
    let types = spec
        .get("policyTypes")
        .filter(|types| types.items().len() > 0);
    let applies_to_ingress = types.is_none_or(|types| {
        types
            .items()
            .any(|policy_type| policy_type.text() == Some("Ingress"))
    });
    let labels = workload.template.labels();
    let label = |key: &str| {
        labels
            .and_then(|labels| labels.get(key))
            .and_then(NodeRef::text)
    };
    applies_to_ingress && Requirements::parse_builtin(spec.get("podSelector")).matches(label)
}
