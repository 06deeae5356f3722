//! Which `NetworkPolicy` keeps the kubelet away from a pod.
//!
//! Source: the Kubernetes API of `networking.k8s.io/v1`: policies add up, and a pod that one of
//! them selects for ingress admits only what some rule names.

use core::net::IpAddr;

use crate::kube::{Object, Requirements, Workload, integer};
use crate::mesh::Fact;
use crate::yaml::NodeRef;

use super::Context;

/// Where a connection comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// This address.
    Address(IpAddr),
    /// The node of the pod, whose address no tree knows: any block of addresses may hold it.
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

impl<'t> Context<'t> {
    /// Tells whether the NetworkPolicies of the tree admit a connection from `source` to `port`
    /// of the pods of `workload`. Where none isolates the pod, everything is admitted.
    #[must_use]
    pub fn admits(&self, workload: &Workload<'t>, source: Source, port: i64) -> Fact<bool> {
        let policies = self.inventory.network_policies.iter();
        let isolating: Vec<&Object<'t>> = policies
            .filter(|policy| self.shares_namespace(policy, &workload.object))
            .filter(|policy| isolates(policy, workload))
            .collect();
        let Some(first) = isolating.first() else {
            return Fact::settled(true, "no NetworkPolicy isolates the pod");
        };
        let admitting = isolating.iter().find(|policy| {
            ingress(policy)
                .any(|rule| admits_source(rule, source) && admits_port(rule, workload, port))
        });
        match admitting {
            Some(policy) => {
                let said = format!("NetworkPolicy `{}` admits {source}", policy.name());
                Fact::known(true, policy.label_at(policy.name_span(), said))
            }
            None => {
                let said = format!("NetworkPolicy `{}` does not admit {source}", first.name());
                Fact::known(false, first.label_at(first.name_span(), said))
            }
        }
    }
}

/// The policy selects the pod, and speaks of ingress: it does unless `policyTypes` leaves it out.
fn isolates(policy: &Object<'_>, workload: &Workload<'_>) -> bool {
    let Some(spec) = policy.node.get("spec") else {
        return false;
    };
    let types = spec
        .get("policyTypes")
        .filter(|types| types.items().len() > 0);
    let speaks = types.is_none_or(|types| types.items().any(|one| one.text() == Some("Ingress")));
    let labels = workload.template.labels();
    let label = |key: &str| {
        labels
            .and_then(|labels| labels.get(key))
            .and_then(NodeRef::text)
    };
    speaks && Requirements::parse(spec.get("podSelector")).matches(label)
}

fn ingress<'t>(policy: &Object<'t>) -> impl Iterator<Item = NodeRef<'t>> + use<'t> {
    let rules = policy.node.get("spec").and_then(|spec| spec.get("ingress"));
    rules.into_iter().flat_map(NodeRef::items)
}

/// Selectors of pods and namespaces never match an address outside the cluster's pods.
fn admits_source(rule: NodeRef<'_>, source: Source) -> bool {
    let Some(from) = rule.get("from").filter(|from| from.items().len() > 0) else {
        return true;
    };
    let mut blocks = from.items().filter_map(|peer| peer.get("ipBlock"));
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

fn admits_port(rule: NodeRef<'_>, workload: &Workload<'_>, port: i64) -> bool {
    let Some(ports) = rule.get("ports").filter(|ports| ports.items().len() > 0) else {
        return true;
    };
    ports.items().any(|entry| {
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

fn declared(workload: &Workload<'_>, name: &str) -> Option<i64> {
    let containers = workload.template.containers();
    let mut ports = containers.iter().flat_map(crate::kube::Container::ports);
    ports
        .find(|port| port.name == Some(name))
        .and_then(|port| port.number)
}

/// Tells whether an address lies in a block such as `169.254.7.127/32`.
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
