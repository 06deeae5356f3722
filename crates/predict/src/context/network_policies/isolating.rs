//! The `NetworkPolicy`s that isolate pods, found once for all pods that the same policies select.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use meshprobe_mesh::kube::{Object, Workload};
use meshprobe_yaml::NodeRef;

use crate::context::fact_cache::{Cache, NamespaceKey};
use crate::context::label_index::SelectorLabel;
use crate::context::namespace_index::NamespaceIndex;
use crate::context::network_policies::admitted_ports::AdmittedPorts;
use crate::context::network_policies::ingress_rule::{IngressRule, Source};

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
