//! The `NetworkPolicy`s that isolate pods, found once for all pods that the same policies select.

use core::net::IpAddr;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::kube::{Container, Object, Workload, integer};
use meshprobe_yaml::{Entry, NodeRef};

use crate::context::fact_cache::{Cache, NamespaceKey};
use crate::context::namespace_index::{NamespaceIndex, SelectorLabel};

/// The values that decide which policies isolate a pod: its namespace, the labels that `matchLabels` of a policy name,
/// and the labels that `matchExpressions` name.
type PodClass = (NamespaceKey, Vec<SelectorLabel>, Vec<(String, String)>);

/// The policies that isolate the pods of each class.
#[derive(Debug, Default)]
pub(in crate::context) struct Isolations {
    classes: Cache<PodClass, Arc<Isolation>>,
    next_number: AtomicUsize,
    /// The keys that `matchExpressions` of all policies name.
    expression_keys: OnceLock<BTreeSet<String>>,
}

/// The policies that isolate the pods of a class.
#[derive(Debug)]
pub(in crate::context) struct Isolation {
    number: usize,
    /// Their positions in the inventory, in order.
    positions: Vec<usize>,
    admitted: Cache<Option<Source>, Arc<AdmittedPorts>>,
}

impl Isolations {
    /// Returns the policies that isolate the pods of a class. `positions` finds them in the inventory, in order.
    pub(in crate::context) fn of(
        &self,
        class: PodClass,
        positions: impl FnOnce() -> Vec<usize>,
    ) -> Arc<Isolation> {
        self.classes.of(class, || {
            Arc::new(Isolation {
                number: self.next_number.fetch_add(1, Ordering::Relaxed),
                positions: positions(),
                admitted: Cache::default(),
            })
        })
    }

    /// Returns those of `labels`, a mapping, that `matchExpressions` of `policies` name, sorted.
    pub(in crate::context) fn expression_labels(
        &self,
        policies: &[Object<'_>],
        labels: Option<NodeRef<'_>>,
    ) -> Vec<(String, String)> {
        let keys = self.expression_keys.get_or_init(|| {
            let expressions = policies
                .iter()
                .filter_map(|policy| policy.node.get("spec")?.get("podSelector"))
                .filter_map(|selector| selector.get("matchExpressions"));
            expressions
                .flat_map(NodeRef::items)
                .filter_map(|item| Some(item.get("key")?.text()?.to_owned()))
                .collect()
        });
        if keys.is_empty() {
            return Vec::new();
        }
        let entries = labels.into_iter().flat_map(NodeRef::effective_entries);
        let mut named: Vec<(String, String)> = entries
            .filter_map(|entry| Some((entry.key.text()?, entry.value.text()?)))
            .filter(|(key, _)| keys.contains(*key))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        named.sort_unstable();
        named
    }
}

/// The NetworkPolicies that isolate the pods of a workload.
#[derive(Clone, Debug)]
pub struct IsolatingPolicies<'c, 't> {
    pub(in crate::context) all: &'c NamespaceIndex<'t, Object<'t>>,
    pub(in crate::context) workload: &'c Workload<'t>,
    pub(in crate::context) isolation: Arc<Isolation>,
}

impl<'c, 't> IsolatingPolicies<'c, 't> {
    /// Iterates over the policies, in the order of the inventory.
    pub fn all(&self) -> impl Iterator<Item = &'c Object<'t>> {
        let positions = self.isolation.positions.iter();
        positions.filter_map(|position| self.all.get(*position))
    }

    /// Returns the number of policies.
    #[must_use]
    pub fn count(&self) -> usize {
        self.isolation.positions.len()
    }

    /// Returns a key of the policies. It is equal only for pods that the same policies isolate.
    #[must_use]
    pub fn key(&self) -> usize {
        self.isolation.number
    }

    /// Returns whether `policy`, which is in the inventory, isolates the pods.
    #[must_use]
    pub fn contains(&self, policy: &Object<'t>) -> bool {
        self.all
            .element_offset(policy)
            .is_some_and(|position| self.isolation.positions.binary_search(&position).is_ok())
    }

    /// Returns the first policy that admits connections to `port` of the pods: those from `source`, or those from any
    /// source.
    #[must_use]
    pub fn admitting(&self, source: Option<Source>, port: i64) -> Option<&'c Object<'t>> {
        let admitted = self.isolation.admitted.of(source, || {
            let mut ports = AdmittedPorts::default();
            for &position in &self.isolation.positions {
                let policy = self.all.get(position);
                for rule in policy.into_iter().flat_map(IngressRule::all_of) {
                    if source.is_none_or(|source| rule.admits_source(source)) {
                        ports.add(rule, position);
                    }
                }
            }
            Arc::new(ports)
        });
        self.all.get(admitted.first(self.workload, port)?)
    }

    /// Returns whether policies isolate the pods, and none of them admits connections to `port` from `source`, or from
    /// any source.
    #[must_use]
    pub fn deny(&self, source: Option<Source>, port: i64) -> bool {
        self.count() > 0 && self.admitting(source, port).is_none()
    }
}

/// The ports that rules admit, each with the first policy that has such a rule.
#[derive(Debug, Default)]
pub struct AdmittedPorts {
    /// The first policy that admits all ports.
    all: Option<usize>,
    numbers: HashMap<i64, usize>,
    /// The first and the last port of ranges, in the order of the policies.
    ranges: Vec<(i64, i64, usize)>,
    /// The ends of ranges that start with a named port, in the order of the policies.
    named: HashMap<String, Vec<(Option<i64>, usize)>>,
}

impl AdmittedPorts {
    /// Returns the ports that one rule admits.
    #[must_use]
    pub fn of(rule: IngressRule<'_>) -> Self {
        let mut ports = Self::default();
        ports.add(rule, 0);
        ports
    }

    /// Adds the ports of a rule of the policy at a position. Policies are added in their order.
    pub(in crate::context) fn add(&mut self, rule: IngressRule<'_>, position: usize) {
        if self.all.is_some() {
            return;
        }
        let Some(ports) = rule.ports() else {
            self.all = Some(position);
            return;
        };
        for entry in ports.value.items() {
            if !matches!(
                entry.get("protocol").and_then(NodeRef::text),
                None | Some("TCP")
            ) {
                continue;
            }
            let Some(port) = entry.get("port") else {
                self.all.get_or_insert(position);
                continue;
            };
            let last = entry.get("endPort").and_then(integer);
            match (integer(port), last) {
                (Some(first), Some(last)) if last != first => {
                    self.ranges.push((first, last, position));
                }
                (Some(number), _) => {
                    self.numbers.entry(number).or_insert(position);
                }
                (None, last) => {
                    if let Some(name) = port.text() {
                        let named = self.named.entry_ref(name).or_default();
                        named.push((last, position));
                    }
                }
            }
        }
    }

    /// Returns the position of the first policy that admits connections to `port` of the pods of `workload`.
    #[must_use]
    pub fn first(&self, workload: &Workload<'_>, port: i64) -> Option<usize> {
        let is_in = |first: i64, last: i64| (first..=last).contains(&port);
        let in_range = self
            .ranges
            .iter()
            .find(|(first, last, _)| is_in(*first, *last))
            .map(|(_, _, position)| *position);
        let names = (!self.named.is_empty()).then(|| named_ports(workload));
        let by_name = names.into_iter().flatten().filter_map(|(name, number)| {
            let (named, number) = (self.named.get(name)?, number?);
            let mut found = named.iter();
            found
                .find(|(last, _)| is_in(number, last.unwrap_or(number)))
                .map(|(_, position)| *position)
        });
        let numbered = self.numbers.get(&port).copied();
        [self.all, numbered, in_range]
            .into_iter()
            .flatten()
            .chain(by_name)
            .min()
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
