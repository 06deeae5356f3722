//! The ports that rules for ingress of `NetworkPolicy`s admit, indexed so that one lookup checks all rules.

use hashbrown::HashMap;
use meshprobe_mesh::kube::{Workload, integer};
use meshprobe_yaml::NodeRef;

use crate::context::network_policies::ingress_rule::{IngressRule, named_ports};

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
