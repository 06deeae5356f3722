//! Rules for ingress of a `NetworkPolicy`: the sources and the ports that they name.

use core::net::IpAddr;

use hashbrown::HashSet;
use meshprobe_mesh::kube::{Container, Object, Workload};
use meshprobe_yaml::{Entry, NodeRef};

/// The source of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
}

/// Returns the named ports of the pods of `workload`, the first of each name.
#[must_use]
pub fn named_ports<'t>(workload: &Workload<'t>) -> Vec<(&'t str, Option<i64>)> {
    let mut seen = HashSet::new();
    let containers = workload.template.containers();
    containers
        .iter()
        .flat_map(Container::ports)
        .filter_map(|port| Some((port.name?, port.number)))
        .filter(|(name, _)| seen.insert(*name))
        .collect()
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
