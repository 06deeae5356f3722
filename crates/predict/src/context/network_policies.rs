//! Decides whether a `NetworkPolicy` blocks the connections of the kubelet to a pod.
//!
//! Source: the Kubernetes API of `networking.k8s.io/v1`: policies are additive, and a pod that a policy
//! selects for ingress admits only connections that a rule allows.

use core::net::IpAddr;

use hashbrown::HashSet;
use meshprobe_mesh::kube::{Container, Object, Requirements, Workload, integer};
use meshprobe_mesh::mesh::Fact;
use meshprobe_yaml::{Entry, NodeRef};

use crate::context::namespace_index::{NamespaceIndex, Unselective};
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
        let labels = (self.workload.template.labels(), Unselective::Included);
        let is_deployed_there = inventory.environments.deployed_may_apply(object);
        let home = object.location_file();
        let positions = all
            .near_selecting(namespace.name, labels, &inventory.environments, home)
            .filter(|(_, policy)| namespace.is_that_of(policy) && is_deployed_there(policy))
            .filter(|(_, policy)| isolates(policy, self.workload))
            .map(|(position, _)| position)
            .collect();
        IsolatingPolicies {
            all,
            workload: self.workload,
            positions,
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

/// The NetworkPolicies that isolate the pods of a workload.
#[derive(Clone, Debug)]
pub struct IsolatingPolicies<'c, 't> {
    all: &'c NamespaceIndex<'t, Object<'t>>,
    workload: &'c Workload<'t>,
    /// Their positions in the inventory, in order.
    positions: Vec<usize>,
}

impl<'c, 't> IsolatingPolicies<'c, 't> {
    /// Iterates over the policies, in the order of the inventory.
    pub fn all(&self) -> impl Iterator<Item = &'c Object<'t>> {
        let positions = self.positions.iter();
        positions.filter_map(|position| self.all.get(*position))
    }

    /// Returns the number of policies.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.positions.len()
    }

    /// Returns the positions of the policies in the inventory. They are equal for pods that the same policies isolate.
    #[must_use]
    pub fn positions(&self) -> &[usize] {
        &self.positions
    }

    /// Returns whether `policy`, which is in the inventory, isolates the pods.
    #[must_use]
    pub fn contains(&self, policy: &Object<'t>) -> bool {
        let position = self.all.element_offset(policy);
        position.is_some_and(|position| self.positions.contains(&position))
    }

    /// Returns the first policy that admits connections to `port` of the pods: those from `source`, or those from any
    /// source.
    #[must_use]
    pub fn admitting(&self, source: Option<Source>, port: i64) -> Option<&'c Object<'t>> {
        let admits = |rule: IngressRule<'t>| {
            source.is_none_or(|source| rule.admits_source(source))
                && rule.admits_port(self.workload, port)
        };
        self.all()
            .find(|policy| IngressRule::all_of(policy).any(admits))
    }

    /// Returns whether policies isolate the pods, and none of them admits connections to `port` from `source`, or from
    /// any source.
    #[must_use]
    pub fn deny(&self, source: Option<Source>, port: i64) -> bool {
        self.count() > 0 && self.admitting(source, port).is_none()
    }
}

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

    /// Returns whether the rule admits connections to `port` of the pods of `workload`. A rule without ports admits all.
    #[must_use]
    pub fn admits_port(self, workload: &Workload<'_>, port: i64) -> bool {
        let Some(ports) = self.ports() else {
            return true;
        };
        let is_tcp = |entry: &NodeRef<'_>| {
            let protocol = entry.get("protocol").and_then(NodeRef::text);
            matches!(protocol, None | Some("TCP"))
        };
        ports.value.items().filter(is_tcp).any(|entry| {
            let Some(first) = entry.get("port") else {
                return true;
            };
            let last = entry.get("endPort").and_then(integer);
            let contains = |first: i64| (first..=last.unwrap_or(first)).contains(&port);
            match integer(first) {
                Some(first) => contains(first),
                None => named_ports(workload).iter().any(|(name, number)| {
                    Some(*name) == first.text() && number.is_some_and(contains)
                }),
            }
        })
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
    use super::*;

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
