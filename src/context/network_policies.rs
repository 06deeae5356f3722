//! Decides whether a `NetworkPolicy` blocks the connections of the kubelet to a pod.
//!
//! Source: the Kubernetes API of `networking.k8s.io/v1`: policies are additive, and a pod that a policy
//! selects for ingress admits only connections that a rule allows.

use core::net::IpAddr;

use crate::kube::{Object, Requirements, Workload, integer};
use crate::mesh::Fact;
use crate::yaml::{Entry, NodeRef};

use crate::context::run_context::Context;

/// The source of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// This address.
    Address(IpAddr),
    /// The node of the pod. A tree does not contain its address, so any address block may contain it.
    Node,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address}"),
            Self::Node => f.write_str("the node"),
        }
    }
}

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
    pub fn isolating(self) -> Vec<&'c Object<'t>> {
        self.context
            .namespace_of(&self.workload.object)
            .facts(&self.context.inventory.network_policies)
            .filter(|policy| isolates(policy, self.workload))
            .collect()
    }

    /// Returns whether the NetworkPolicies of the tree admit a connection from `source` to `port` of the
    /// pods of `workload`. If no policy isolates the pod, all connections are admitted.
    #[must_use]
    pub fn admit(self, source: Source, port: i64) -> Fact<bool> {
        let isolating = self.isolating();
        let Some(first) = isolating.first() else {
            return Fact::settled(true, "no NetworkPolicy isolates the pod");
        };
        let admitting = isolating.iter().find(|policy| {
            IngressRule::all_of(policy)
                .any(|rule| rule.admits_source(source) && rule.admits_port(self.workload, port))
        });
        match admitting {
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
#[must_use]
pub fn isolates(policy: &Object<'_>, workload: &Workload<'_>) -> bool {
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
    applies_to_ingress && Requirements::parse(spec.get("podSelector")).matches(label)
}

/// A rule for ingress of a `NetworkPolicy`.
#[derive(Clone, Copy, Debug)]
pub struct IngressRule<'t> {
    /// The rule.
    pub node: NodeRef<'t>,
}

impl<'t> IngressRule<'t> {
    /// Returns the rules of a policy.
    pub fn all_of(policy: &Object<'t>) -> impl Iterator<Item = Self> + use<'t> {
        let rules = policy.node.get("spec").and_then(|spec| spec.get("ingress"));
        rules
            .into_iter()
            .flat_map(NodeRef::items)
            .map(|node| Self { node })
    }

    /// Returns the sources that the rule admits; none means all sources.
    pub fn peers(self) -> impl Iterator<Item = NodeRef<'t>> + use<'t> {
        let from = self.node.get("from");
        from.into_iter().flat_map(NodeRef::items)
    }

    /// Returns the entry `ports` if the rule is limited to some ports.
    #[must_use]
    pub fn ports(self) -> Option<Entry<'t>> {
        let entry = self.node.entry("ports")?;
        (entry.value.items().len() > 0).then_some(entry)
    }

    /// Returns whether the rule names a block of private addresses, as nodes have.
    #[must_use]
    pub fn names_private_addresses(self) -> bool {
        self.peers()
            .filter_map(|peer| peer.get("ipBlock"))
            .any(|block| {
                let cidr = block.get("cidr").and_then(NodeRef::text);
                let network = cidr.and_then(|cidr| cidr.trim().split_once('/')?.0.parse().ok());
                match network {
                    Some(IpAddr::V4(address)) => address.is_private(),
                    Some(IpAddr::V6(address)) => address.is_unique_local(),
                    None => false,
                }
            })
    }

    /// Returns whether the rule admits connections from `source`. Selectors of pods and namespaces
    /// never match an address outside the cluster's pods.
    #[must_use]
    pub fn admits_source(self, source: Source) -> bool {
        if self.peers().next().is_none() {
            return true;
        }
        let mut blocks = self.peers().filter_map(|peer| peer.get("ipBlock"));
        let Source::Address(source) = source else {
            return blocks.next().is_some();
        };
        blocks.any(|block| {
            let cidr = block.get("cidr").and_then(NodeRef::text);
            let mut except = block.get("except").into_iter().flat_map(NodeRef::items);
            cidr.is_some_and(|cidr| contains(cidr, source))
                && !except.any(|cidr| cidr.text().is_some_and(|cidr| contains(cidr, source)))
        })
    }

    /// Returns whether the rule admits connections to a port of the pods of `workload`.
    #[must_use]
    pub fn admits_port(self, workload: &Workload<'_>, port: i64) -> bool {
        let Some(ports) = self.ports() else {
            return true;
        };
        ports.value.items().any(|entry| {
            let protocol = entry.get("protocol").and_then(NodeRef::text);
            let Some(written) = entry.get("port") else {
                return matches!(protocol, None | Some("TCP"));
            };
            let first = integer(written).or_else(|| declared(workload, written.text()?));
            let last = entry.get("endPort").and_then(integer).or(first);
            let is_in = first
                .zip(last)
                .is_some_and(|(first, last)| (first..=last).contains(&port));
            matches!(protocol, None | Some("TCP")) && is_in
        })
    }
}

fn declared(workload: &Workload<'_>, name: &str) -> Option<i64> {
    let containers = workload.template.containers();
    containers
        .iter()
        .flat_map(crate::kube::Container::ports)
        .find(|port| port.name == Some(name))
        .and_then(|port| port.number)
}

/// Returns whether a block such as `169.254.7.127/32` contains an address.
fn contains(cidr: &str, address: IpAddr) -> bool {
    let Some((network, bits)) = cidr.trim().split_once('/') else {
        return false;
    };
    let (Ok(network), Ok(bits)) = (network.parse::<IpAddr>(), bits.parse::<u32>()) else {
        return false;
    };
    let same = |a: u128, b: u128, width: u32| {
        let shift = width.saturating_sub(bits);
        bits <= width && (shift >= 128 || a >> shift == b >> shift)
    };
    match (network, address) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            same(u128::from(a.to_bits()), u128::from(b.to_bits()), 32)
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::contains;

    #[test]
    fn blocks_contain_their_addresses() {
        let snat = "169.254.7.127".parse().unwrap();
        for cidr in ["169.254.7.127/32", "169.254.0.0/16", "0.0.0.0/0"] {
            assert!(contains(cidr, snat), "{cidr}");
        }
        for cidr in [
            "10.0.0.0/8",
            "169.254.7.126/32",
            "fd00::/8",
            "nonsense",
            "0.0.0.0/40",
        ] {
            assert!(!contains(cidr, snat), "{cidr}");
        }
        assert!(contains("::/0", "fd16::1".parse().unwrap()));
    }
}
