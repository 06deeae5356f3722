//! Pods by their labels, so that a policy meets only those that it may select.

use hashbrown::HashMap;

use crate::context::Context;
use crate::kube::LabelSelector;
use crate::predict::WorkloadPrediction;
use crate::yaml::NodeRef;

/// Below this many policies every pod is compared with each: an index costs more.
const FEW: usize = 16;

/// The pods of a tree by namespace and label, where there are policies enough to ask for them.
#[derive(Debug, Default)]
pub struct PodLabels<'s, 't> {
    by_namespace: Option<HashMap<&'s str, ByKey<'s, 't>>>,
}

/// Pods by the key of a label and by its value.
type ByKey<'s, 't> = HashMap<&'t str, HashMap<&'t str, Vec<&'s WorkloadPrediction<'t>>>>;

impl<'s, 't> PodLabels<'s, 't> {
    /// Sorts the pods where the tree has many policies that select pods.
    pub(super) fn of(context: &'s Context<'t>, predictions: &'s [WorkloadPrediction<'t>]) -> Self {
        let inventory = &context.inventory;
        let policies = inventory.peer_authentications.len()
            + inventory.authorization_policies.len()
            + inventory.envoy_filters.len()
            + inventory.mesh_signs.len();
        if policies < FEW {
            return Self::default();
        }
        let mut by_namespace: HashMap<&str, ByKey<'s, 't>> = HashMap::new();
        for pod in predictions {
            let namespace = context.namespace_of(&pod.workload.object).0;
            let labels = pod.workload.template.labels().into_iter();
            for entry in labels.flat_map(NodeRef::effective_entries) {
                if let (Some(key), Some(value)) = (entry.key.text(), entry.value.text()) {
                    let by_key = by_namespace.entry(namespace).or_default();
                    let by_value = by_key.entry(key).or_default();
                    by_value.entry(value).or_default().push(pod);
                }
            }
        }
        Self {
            by_namespace: Some(by_namespace),
        }
    }

    /// Returns the pods of a namespace that carry one of the labels, the rarest of them, in their order; `None` where
    /// all pods are to be asked: no label is asked for, or there is no index.
    pub(super) fn carrying(
        &self,
        namespace: &str,
        selector: LabelSelector<'_>,
    ) -> Option<&[&'s WorkloadPrediction<'t>]> {
        let by_namespace = self.by_namespace.as_ref()?;
        let by_key = by_namespace.get(namespace);
        let labels = selector.into_labels().into_iter();
        let found = labels.map(|(key, value)| {
            let pods = by_key.and_then(|by_key| by_key.get(key)?.get(value));
            pods.map_or(&[][..], Vec::as_slice)
        });
        found.min_by_key(|pods| pods.len())
    }
}
