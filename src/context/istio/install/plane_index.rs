//! Control planes by the names that they serve and by the labels that their webhooks require, so that a pod is compared
//! only with those that may inject it.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::mesh::istio::install::{Install, Webhook};

use crate::context::istio::install::labels::Labels;

/// The positions of a control plane among all, and of a webhook among its own.
type HookId = (usize, usize);

/// Control planes by what decides whom they inject.
#[derive(Debug, Default)]
pub(in crate::context) struct PlaneIndex {
    by_name: HashMap<String, Vec<usize>>,
    /// Those with the default role.
    defaults: Vec<usize>,
    /// Webhooks by one of the labels that they require, see [`Side::label`].
    hooks: HashMap<String, Vec<HookId>>,
    /// Webhooks that require no value of any label.
    unspecific: Vec<HookId>,
}

/// The positions of control planes that may inject a pod, each with those of its webhooks that may select the pod.
pub(in crate::context) type Possible = BTreeMap<usize, Vec<usize>>;

/// What has a label.
#[derive(Clone, Copy, Debug)]
enum Side {
    Namespace,
    Pod,
}

impl Side {
    /// Returns the key of a label in the index. Labels may share a key: what is found is compared again.
    fn label(self, key: &str, value: &str) -> String {
        format!("{self:?} {key}={value}")
    }
}

impl PlaneIndex {
    /// Sorts all control planes of a tree.
    pub(in crate::context) fn of(planes: &[Install]) -> Self {
        let mut index = Self::default();
        let mut uses: HashMap<String, usize> = HashMap::new();
        for hook in planes.iter().flat_map(|plane| &plane.webhooks) {
            for label in required(hook).flatten() {
                *uses.entry(label).or_default() += 1;
            }
        }
        for (at, plane) in planes.iter().enumerate() {
            for name in plane.names() {
                index.by_name.entry_ref(name).or_default().push(at);
            }
            if plane.is_default() {
                index.defaults.push(at);
            }
            for (number, hook) in plane.webhooks.iter().enumerate() {
                index.insert((at, number), hook, &uses);
            }
        }
        index
    }

    /// Adds a webhook at the label that the fewest webhooks require.
    fn insert(&mut self, id: HookId, hook: &Webhook, uses: &HashMap<String, usize>) {
        let rarest = required(hook).min_by_key(|labels| {
            let counts = labels.iter().filter_map(|label| uses.get(label));
            counts.sum::<usize>()
        });
        match rarest {
            Some(labels) => {
                for label in labels {
                    self.hooks.entry(label).or_default().push(id);
                }
            }
            None => self.unspecific.push(id),
        }
    }

    /// Returns the control planes that may inject a pod; no other one does.
    pub(in crate::context) fn possible(&self, labels: &Labels<'_>) -> Possible {
        let mut possible = Possible::new();
        let input = &labels.input;
        let named = [input.namespace_revision, input.revision];
        let named = named.into_iter().flatten();
        let planes = named.filter_map(|name| self.by_name.get(name)).flatten();
        let defaults = self.defaults.iter().filter(|_| input.requests_default());
        for at in planes.chain(defaults) {
            possible.entry(*at).or_default();
        }
        for (at, number) in self.hooks_of(labels) {
            possible.entry(at).or_default().push(number);
        }
        for numbers in possible.values_mut() {
            numbers.sort_unstable();
            numbers.dedup();
        }
        possible
    }

    fn hooks_of(&self, labels: &Labels<'_>) -> impl Iterator<Item = HookId> {
        let mut found: Vec<&Vec<HookId>> = vec![&self.unspecific];
        if !self.hooks.is_empty() {
            let namespace = labels.of_namespace().into_iter();
            let namespace = namespace.map(|(key, value)| Side::Namespace.label(key, value));
            let pod = labels.of_pod().into_iter();
            let pod = pod.map(|(key, value)| Side::Pod.label(key, value));
            found.extend(
                namespace
                    .chain(pod)
                    .filter_map(|label| self.hooks.get(&label)),
            );
        }
        found.into_iter().flatten().copied()
    }
}

/// Iterates over the labels that a webhook requires of namespace and pod: one of each item.
fn required(hook: &Webhook) -> impl Iterator<Item = Vec<String>> {
    let sides = [
        (Side::Namespace, &hook.namespaces),
        (Side::Pod, &hook.objects),
    ];
    sides.into_iter().flat_map(|(side, selector)| {
        selector.required().map(move |(key, values)| {
            let labels = values.iter().map(|value| side.label(key, value));
            labels.collect()
        })
    })
}
