//! Finds the `SecurityGroupPolicy`s of the AWS VPC CNI that select a pod.

use meshprobe_mesh::kube::{Object, Requirements, Workload};
use meshprobe_mesh::mesh::Fact;
use meshprobe_yaml::NodeRef;

use crate::context::network_plugin::facet::ClusterNetwork;

impl ClusterNetwork<'_, '_> {
    /// Returns whether a `SecurityGroupPolicy` of the tree selects the pods. Such a pod has a network interface of its
    /// own.
    #[must_use]
    pub fn security_group(self) -> Fact<bool> {
        let inventory = &self.context.inventory;
        let object = &self.workload.object;
        let namespace = self.context.namespace_of(object);
        let environments = &inventory.environments;
        let is_deployed_there = environments.deployed_may_apply(object);
        let policies = inventory
            .security_group_policies
            .near(namespace.name, environments, object.location_file())
            .map(|(_, policy)| policy)
            .filter(|policy| namespace.is_that_of(policy))
            .filter(|policy| is_deployed_there(policy));
        let mut policies = policies.filter_map(|policy| selection(policy, self.workload));
        if let Some(selected) = policies.next() {
            return selected;
        }
        if inventory.security_group_policies.is_empty() {
            let message = "no SecurityGroupPolicy outside of the tree selects the pod";
            return Fact::assumed(false, message, None);
        }
        Fact::settled(false, "no SecurityGroupPolicy of the tree selects the pod")
    }
}

/// Returns the fact that a policy selects the pods of a workload; `None` if it does not. The labels of the
/// ServiceAccount are not read.
fn selection(policy: &Object<'_>, workload: &Workload<'_>) -> Option<Fact<bool>> {
    let spec = policy.node.get("spec")?;
    let pods = spec.get("podSelector");
    let accounts = spec.get("serviceAccountSelector");
    let labels = workload.template.labels();
    let label = |key: &str| labels?.get(key).and_then(NodeRef::text);
    if pods.is_none() && accounts.is_none() || !Requirements::parse(pods).matches(label) {
        return None;
    }
    let message = format!("SecurityGroupPolicy `{}` selects the pod", policy.name());
    let fact = Fact::known(true, policy.label_at(policy.name_span(), message));
    Some(match accounts {
        None => fact,
        Some(_) => {
            let message = "`serviceAccountSelector` matches the ServiceAccount of the pod";
            fact.depending_on(&Fact::assumed((), message, None))
        }
    })
}
