//! The policies of mesh and cluster, with the places of what they say.

use crate::yaml::{Entry, NodeRef};

use super::{LabelSelector, Object, Workload, integer};

/// A `PeerAuthentication` of `security.istio.io`.
#[derive(Clone, Copy, Debug)]
pub struct PeerAuthentication<'t> {
    spec: Option<NodeRef<'t>>,
}

/// What a `PeerAuthentication` says of one port.
#[derive(Clone, Copy, Debug)]
pub struct PortMode<'t> {
    /// The entry of `portLevelMtls`.
    pub entry: Entry<'t>,
    /// The port, where the key is a number.
    pub port: Option<i64>,
    /// The entry `mode`, if written.
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
        self.spec?.entry(key)
    }

    /// Returns the entry `selector`, if written.
    #[must_use]
    pub fn selector_entry(self) -> Option<Entry<'t>> {
        self.field("selector")
    }

    /// Returns the labels that the selector asks for; none selects by namespace.
    #[must_use]
    pub fn selector(self) -> LabelSelector<'t> {
        let selector = self.selector_entry();
        LabelSelector::from_mapping(selector.and_then(|entry| entry.value.get("matchLabels")))
    }

    /// Tells whether the selector names a label, or is filled in by another tool.
    #[must_use]
    pub fn has_selector(self) -> bool {
        let names = |node: NodeRef<'_>| !node.is_null() && !is_empty_mapping(node);
        self.selector_entry().is_some_and(|selector| {
            let selector = selector.value;
            match selector.get("matchLabels") {
                Some(labels) => names(labels),
                None => !selector.is_mapping() && !selector.is_null(),
            }
        })
    }

    /// Returns the entry `mtls`, if written.
    #[must_use]
    pub fn mtls_entry(self) -> Option<Entry<'t>> {
        self.field("mtls")
    }

    /// Returns the entry `mtls.mode`, if written.
    #[must_use]
    pub fn mode(self) -> Option<Entry<'t>> {
        self.mtls_entry()?.value.entry("mode")
    }

    /// Returns the entry `portLevelMtls`, if written.
    #[must_use]
    pub fn ports_entry(self) -> Option<Entry<'t>> {
        self.field("portLevelMtls")
    }

    /// Returns what is said of single ports.
    pub fn ports(self) -> impl Iterator<Item = PortMode<'t>> + use<'t> {
        let ports = self.ports_entry().map(|entry| entry.value);
        ports
            .into_iter()
            .flat_map(NodeRef::effective_entries)
            .map(|entry| PortMode {
                entry,
                port: entry.key.text().and_then(|text| text.parse().ok()),
                mode: entry.value.entry("mode"),
            })
    }
}

fn is_empty_mapping(node: NodeRef<'_>) -> bool {
    node.is_mapping() && node.effective_entries().is_empty()
}

/// A port of a Service.
#[derive(Clone, Copy, Debug)]
pub struct ServicePort<'t> {
    /// The entry of `spec.ports`.
    pub node: NodeRef<'t>,
    /// `port`, where it is an integer.
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

/// Tells whether the `workloadSelector` of an object (`Sidecar`, `EnvoyFilter`) is empty or matches
/// the labels of the pods of `workload`.
#[must_use]
pub fn selects_workload(object: &Object<'_>, workload: &Workload<'_>) -> bool {
    workload_selector(object).matches(workload.template.labels())
}

/// Returns the labels that the `workloadSelector` of an object (`Sidecar`, `EnvoyFilter`) asks for.
#[must_use]
pub fn workload_selector<'t>(object: &Object<'t>) -> LabelSelector<'t> {
    let spec = object.node.get("spec");
    let selector = spec.and_then(|spec| spec.get("workloadSelector"));
    LabelSelector::from_mapping(selector.and_then(|selector| selector.get("labels")))
}

/// Tells whether an object of another tool may bring pods that stand in no manifest: a
/// `HelmRelease`, a `Gateway`, the object of an operator.
#[must_use]
pub fn may_bring_pods(group: &str, kind: &str) -> bool {
    let built_in = !group.contains('.') || group.ends_with(".k8s.io");
    let of_mesh = group.ends_with(".istio.io") || group == "kustomize.config.k8s.io";
    let gateway = group == "gateway.networking.k8s.io" && kind == "Gateway";
    gateway || !built_in && !of_mesh
}
