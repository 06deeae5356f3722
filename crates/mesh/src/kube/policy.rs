//! Policies of the mesh and the cluster, with the locations of their settings.

use meshprobe_yaml::{Entry, NodeRef};

use super::{LabelSelector, Object, Workload};
use crate::kube::integer::integer;

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
