//! Policies of the mesh and the cluster, with the locations of their settings.
//!
//! Label selectors with `matchLabels` only.

use hashbrown::HashMap;
use meshprobe_yaml::{Entry, NodeRef};

use super::container::integer;
use super::{Object, Workload};

/// A `PeerAuthentication` of `security.istio.io`.
#[derive(Clone, Copy, Debug)]
pub struct PeerAuthentication<'t> {
    spec: Option<NodeRef<'t>>,
}

/// Mutual TLS mode that a `PeerAuthentication` sets for one port.
#[derive(Clone, Copy, Debug)]
pub struct PortMode<'t> {
    /// The entry of `portLevelMtls`.
    pub entry: Entry<'t>,
    /// The port, if the key is a number.
    pub port: Option<i64>,
    /// The entry `mode`, if set.
    pub mode: Option<Entry<'t>>,
}

impl<'t> PeerAuthentication<'t> {
    /// Views an object as a `PeerAuthentication`.
    #[must_use]
    pub fn of(object: &Object<'t>) -> Self {
        Self {
            spec: object.node.get("spec"),
        }
    }

    fn field(self, key: &str) -> Option<Entry<'t>> {
        self.spec?.set_entry(key)
    }

    /// Returns the entry `selector`, if set.
    #[must_use]
    pub fn selector_entry(self) -> Option<Entry<'t>> {
        self.field("selector")
    }

    /// Returns the labels that the selector requires; without labels, the policy selects by namespace.
    #[must_use]
    pub fn selector(self) -> LabelSelector<'t> {
        let selector = self.selector_entry();
        LabelSelector::from_custom(selector.and_then(|entry| entry.value.get("matchLabels")))
    }

    /// Returns whether the selector requires a label, or another tool fills it in.
    #[must_use]
    pub fn has_selector(self) -> bool {
        self.selector_entry().is_some_and(|selector| {
            let selector = selector.value;
            match selector.get_set("matchLabels") {
                Some(labels) => !labels.is_mapping() || labels.set_entries().next().is_some(),
                None => !selector.is_mapping(),
            }
        })
    }

    /// Returns the entry `mtls`, if set.
    #[must_use]
    pub fn mtls_entry(self) -> Option<Entry<'t>> {
        self.field("mtls")
    }

    /// Returns the entry `mtls.mode`, if set.
    #[must_use]
    pub fn mode(self) -> Option<Entry<'t>> {
        self.mtls_entry()?.value.set_entry("mode")
    }

    /// Returns the entry `portLevelMtls`, if set.
    #[must_use]
    pub fn ports_entry(self) -> Option<Entry<'t>> {
        self.field("portLevelMtls")
    }

    /// Returns the modes of single ports.
    pub fn ports(self) -> impl Iterator<Item = PortMode<'t>> + use<'t> {
        self.ports_entry()
            .map(|entry| entry.value)
            .into_iter()
            .flat_map(NodeRef::set_entries)
            .map(|entry| PortMode {
                entry,
                port: entry.key.text().and_then(|text| text.parse().ok()),
                mode: entry.value.set_entry("mode"),
            })
    }
}

/// Port of a Service.
#[derive(Clone, Copy, Debug)]
pub struct ServicePort<'t> {
    /// The item of `spec.ports`.
    pub node: NodeRef<'t>,
    /// `port`, if it is an integer.
    pub port: Option<i64>,
}

impl<'t> ServicePort<'t> {
    /// Returns the ports of a Service.
    pub fn all_of(service: &Object<'t>) -> impl Iterator<Item = Self> + use<'t> {
        let ports = service.node.get("spec").and_then(|spec| spec.get("ports"));
        ports.into_iter().flat_map(NodeRef::items).map(|node| Self {
            node,
            port: node.get("port").and_then(integer),
        })
    }
}

/// Returns whether the `workloadSelector` of an object (`Sidecar`, `EnvoyFilter`) is empty or matches
/// the labels of the pods of `workload`.
#[must_use]
pub fn selects_workload(object: &Object<'_>, workload: &Workload<'_>) -> bool {
    workload_selector(object).matches(workload.template.labels())
}

/// Returns the labels that the `workloadSelector` of an object (`Sidecar`, `EnvoyFilter`) requires.
#[must_use]
pub fn workload_selector<'t>(object: &Object<'t>) -> LabelSelector<'t> {
    let spec = object.node.get("spec");
    let selector = spec.and_then(|spec| spec.get("workloadSelector"));
    LabelSelector::from_custom(selector.and_then(|selector| selector.get("labels")))
}

/// Returns whether an object of another tool may create pods that no manifest contains: a
/// `HelmRelease`, a `Gateway`, or the object of an operator.
#[must_use]
pub fn may_create_pods(group: &str, kind: &str) -> bool {
    let built_in = !group.contains('.') || group.ends_with(".k8s.io");
    let of_mesh = group.ends_with(".istio.io") || group == "kustomize.config.k8s.io";
    let gateway = group == "gateway.networking.k8s.io" && kind == "Gateway";
    gateway || !built_in && !of_mesh
}

/// Up to this number, labels are looked up one by one, without an index.
const FEW: usize = 8;

/// Labels that a selector requires.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LabelSelector<'t> {
    labels: Vec<(&'t str, &'t str)>,
}

impl<'t> LabelSelector<'t> {
    /// Parses a mapping of label names to values in an object of Kubernetes itself; anything else has no requirements.
    #[must_use]
    pub fn from_mapping(node: Option<NodeRef<'t>>) -> Self {
        let entries = node.into_iter().flat_map(NodeRef::effective_entries);
        let pair = |entry: Entry<'t>| Some((entry.key.text()?, label_value(entry.value)?));
        Self {
            labels: entries.filter_map(pair).collect(),
        }
    }

    /// Parses a mapping of label names to values in a custom resource, from which the API server removes null.
    ///
    /// Source: apiextensions-apiserver 0.34.1, `PruneNonNullableNullsWithoutDefaults`.
    #[must_use]
    pub fn from_custom(node: Option<NodeRef<'t>>) -> Self {
        let entries = node.into_iter().flat_map(NodeRef::set_entries);
        let pair = |entry: Entry<'t>| Some((entry.key.text()?, entry.value.text()?));
        Self {
            labels: entries.filter_map(pair).collect(),
        }
    }

    /// Returns the labels that the selector requires.
    #[must_use]
    pub fn into_labels(self) -> Vec<(&'t str, &'t str)> {
        self.labels
    }

    /// Returns whether the selector requires no labels.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Returns whether `labels`, a mapping, contains all required labels.
    #[must_use]
    pub fn matches(&self, labels: Option<NodeRef<'_>>) -> bool {
        if self.labels.len() <= FEW {
            return self.labels.iter().all(|(key, value)| {
                let found = labels.and_then(|labels| labels.get(key));
                found.and_then(label_value) == Some(value)
            });
        }
        let written: HashMap<&str, &str> = labels
            .into_iter()
            .flat_map(NodeRef::effective_entries)
            .filter_map(|entry| Some((entry.key.text()?, label_value(entry.value)?)))
            .collect();
        self.labels
            .iter()
            .all(|(key, value)| written.get(key) == Some(value))
    }
}

/// Returns the value of a label. In objects of Kubernetes itself, null is the empty text, as Go decodes it into a map of
/// texts.
fn label_value(node: NodeRef<'_>) -> Option<&str> {
    match node.is_null() {
        true => Some(""),
        false => node.text(),
    }
}
