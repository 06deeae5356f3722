//! An index of the pods by the selectors of policies, so that a policy is compared only with the pods that it
//! selects.

use hashbrown::HashMap;

use crate::context::{Context, LabelIndex};
use crate::kube::{LabelSelector, Object, PeerAuthentication, workload_selector};
use crate::predict::WorkloadPrediction;

/// With fewer policies, every pod is compared with each of them: an index costs more.
const FEW: usize = 16;

/// The labels of a selector, sorted.
type Labels<'t> = Vec<(&'t str, &'t str)>;

/// The pods of a tree by the selectors of its policies; empty if the tree has few policies.
#[derive(Debug, Default)]
pub struct PodLabels<'s, 't> {
    by_selector: Option<BySelector<'s, 't>>,
}

#[derive(Debug)]
struct BySelector<'s, 't> {
    /// The number of each selector, by the namespace of its policies and its labels.
    numbers: HashMap<(&'s str, Labels<'t>), usize>,
    /// The pods that each selector matches, by the number of the selector.
    selected: Vec<Vec<&'s WorkloadPrediction<'t>>>,
}

impl<'s, 't> PodLabels<'s, 't> {
    /// Builds the index if the tree has at least [`FEW`] policies that select pods.
    pub(in crate::rules) fn of(
        context: &'s Context<'t>,
        predictions: &'s [WorkloadPrediction<'t>],
    ) -> Self {
        let inventory = &context.inventory;
        let by_peers = inventory
            .peer_authentications
            .iter()
            .chain(inventory.authorization_policies.iter());
        let by_workloads = inventory
            .envoy_filters
            .iter()
            .chain(inventory.sidecar_resources.iter());
        if by_peers.clone().count() + by_workloads.clone().count() < FEW {
            return Self::default();
        }
        let mut numbers: HashMap<(&str, Labels<'_>), usize> = HashMap::new();
        let mut selectors = Vec::new();
        let mut add = |policy: &'s Object<'t>, selector: LabelSelector<'t>| {
            let labels = sorted(selector);
            let key = (context.namespace_of(policy).name, labels);
            let next = numbers.len();
            if !key.1.is_empty() && *numbers.entry(key.clone()).or_insert(next) == next {
                selectors.push(key);
            }
        };
        by_peers.for_each(|policy| add(policy, PeerAuthentication::of(policy).selector()));
        by_workloads.for_each(|policy| add(policy, workload_selector(policy)));
        let index = LabelIndex::of(&selectors);
        let mut selected = vec![Vec::new(); selectors.len()];
        for pod in predictions {
            let namespace = context.namespace_of(&pod.workload.object).name;
            for number in index.selecting(namespace, pod.workload.template.labels()) {
                selected
                    .get_mut(number)
                    .into_iter()
                    .for_each(|pods| pods.push(pod));
            }
        }
        let by_selector = Some(BySelector { numbers, selected });
        Self { by_selector }
    }

    /// Returns the pods of a namespace that the selector of a policy in that namespace matches, in their
    /// order; `None` if the caller has to compare all pods, because the selector has no label or there is no
    /// index.
    pub(in crate::rules) fn selected(
        &self,
        namespace: &'s str,
        selector: LabelSelector<'t>,
    ) -> Option<&[&'s WorkloadPrediction<'t>]> {
        let by_selector = self.by_selector.as_ref()?;
        let number = by_selector.numbers.get(&(namespace, sorted(selector)))?;
        let pods = by_selector.selected.get(*number)?;
        Some(pods.as_slice())
    }
}

/// Returns the sorted labels of a selector.
fn sorted(selector: LabelSelector<'_>) -> Labels<'_> {
    let mut labels = selector.into_labels();
    labels.sort_unstable();
    labels
}
