//! Finds policies of network plugins that may drop packets to a pod. Their rules are not evaluated.

use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::keys::HOST_PROBE_SNAT;
use meshprobe_yaml::NodeRef;

use crate::context::network_plugin::facet::ClusterNetwork;

/// The setting that decides the effect of such a policy, which no option can state.
const SETTLE: &str = "no option settles this: test the probe in a cluster";

impl ClusterNetwork<'_, '_> {
    /// Returns the first policy that may apply to ingress of the pods and that is not known to admit the kubelet's
    /// packets. It is assumed to admit them. Source: istio issue 49277.
    #[must_use]
    pub fn unmodelled_policy(self) -> Option<Fact<()>> {
        let inventory = &self.context.inventory;
        if inventory.plugin_policies.is_empty() {
            return None;
        }
        let object = &self.workload.object;
        let namespace = self.context.namespace_of(object);
        let (environments, home) = (&inventory.environments, object.location_file());
        let is_deployed_there = environments.deployed_may_apply(object);
        let policies = &inventory.plugin_policies;
        let own = policies
            .near(namespace.name, environments, home)
            .filter(|(_, policy)| namespace.is_that_of(policy));
        let policy = own
            .chain(policies.near("", environments, home))
            .map(|(_, policy)| policy)
            .filter(|policy| is_deployed_there(policy))
            .find(|policy| may_drop(policy))?;
        let message = format!("{} `{}` may select the pod", policy.kind, policy.name());
        let place = policy.label_at(policy.name_span(), message);
        let admits = format!(
            "{} `{}` admits the kubelet's packets: meshprobe does not evaluate this kind",
            policy.kind,
            policy.name()
        );
        Some(Fact::known((), place).depending_on(&Fact::assumed((), admits, Some(SETTLE))))
    }
}

/// Returns whether a policy may drop ingress of pods. A policy of Cilium also has the field `specs`, a list.
fn may_drop(policy: &Object<'_>) -> bool {
    let spec = policy.node.get("spec").into_iter();
    let specs = policy.node.get("specs").into_iter();
    spec.chain(specs.flat_map(NodeRef::items))
        .any(spec_may_drop)
}

/// Returns whether the specification of a policy applies to ingress of pods and does not name the address of the
/// kubelet's packets.
fn spec_may_drop(spec: NodeRef<'_>) -> bool {
    let has_direction = |direction: &str| {
        let deny = format!("{direction}Deny");
        spec.get(direction).is_some() || spec.get(&deny).is_some()
    };
    let types = spec.get("types").map(|types| {
        let mut types = types.items();
        types.any(|found| found.text() == Some("Ingress"))
    });
    // Without `types`, a policy of Calico applies to egress only if it has no other rules. So does any of Cilium.
    let is_ingress = types.unwrap_or_else(|| has_direction("ingress") || !has_direction("egress"));
    let selects_nodes = spec.get("nodeSelector").is_some();
    is_ingress && !selects_nodes && !admits_address(spec)
}

/// Returns whether the ingress rules name the address of the kubelet's packets, and neither deny packets nor limit
/// ports.
fn admits_address(spec: NodeRef<'_>) -> bool {
    let Some(rules) = spec.get("ingress").map(NodeRef::source) else {
        return false;
    };
    let address = HOST_PROBE_SNAT.to_string();
    let limits = ["Deny", "ports:", "toPorts"];
    spec.get("ingressDeny").is_none()
        && rules.contains(&address)
        && !limits.into_iter().any(|limit| rules.contains(limit))
}
