//! The facts about one installation.

use std::sync::Arc;

use super::values::NOT_YAML;
use super::version;
use crate::finding::Label;
use crate::kube::{Object, Requirements};
use crate::mesh::istio::mtls::MtlsMode;
use crate::mesh::istio::network_plugin::NetworkPlugin;
use crate::mesh::{Fact, Reason, Version};

/// `ENABLE_NATIVE_SIDECARS` of istiod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NativeSidecars {
    /// The sidecar is an init container that is always restarted.
    On,
    /// The sidecar is a container like others.
    Off,
    /// On if every node runs Kubernetes 1.33 or later (Istio 1.27+).
    Auto,
}

/// A pair of selectors: the CNI plugin enrolls pods that match both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnablementSelector {
    /// Selects pods by their labels.
    pub pod: Requirements,
    /// Selects namespaces by their labels.
    pub namespace: Requirements,
}

/// Declares [`Install`]: its facts of one value each, of which the first carrier that states one decides.
macro_rules! install {
    ($($(#[$doc:meta])* $fact:ident: $type:ty,)+) => {
        /// The facts about an installation from one carrier, or from all carriers of a control plane.
        /// `None` means "not written".
        #[derive(Clone, Debug, PartialEq)]
        pub struct Install {
            /// The kind of object or file that states the facts.
            pub carrier: Carrier,
            /// How much of an installation it describes.
            pub part: Part,
            /// The name of the object; empty for a file.
            pub name: String,
            /// The line to point to; its file shows how near the installation is to a workload.
            pub place: Label,
            /// Values files of the tree that this installation includes, so that they state nothing themselves.
            pub reads: Vec<Arc<str>>,
            /// Values from unreadable sources: an unwritten value may differ from the default.
            pub unread: Vec<Reason>,
            /// The value because of which istiod rejects the mesh configuration, with the reason.
            pub rejected_config: Option<Label>,
            /// `revisionTags`, and tags that other objects set.
            pub tags: Vec<Fact<String>>,
            /// Why it may have more names than are written.
            pub more_names: Option<Reason>,
            /// Its webhooks, if the tree contains them: they are evaluated as written.
            pub webhooks: Vec<Webhook>,
            /// Names of custom injection templates.
            pub custom_templates: Vec<Fact<String>>,
            /// Aliases of several templates.
            pub template_aliases: Vec<Fact<(String, Vec<String>)>>,
            $($(#[$doc])* pub $fact: Option<Fact<$type>>,)+
        }

        impl Install {
            /// Returns an installation without facts.
            pub(super) const fn new(carrier: Carrier, part: Part, name: String, place: Label) -> Self {
                Self {
                    carrier,
                    part,
                    name,
                    place,
                    reads: Vec::new(),
                    unread: Vec::new(),
                    rejected_config: None,
                    tags: Vec::new(),
                    more_names: None,
                    webhooks: Vec::new(),
                    custom_templates: Vec::new(),
                    template_aliases: Vec::new(),
                    $($fact: None,)+
                }
            }

            /// Copies facts from `other` that are not written here.
            fn fill_facts(&mut self, other: &Self) {
                $(if self.$fact.is_none() { self.$fact.clone_from(&other.$fact); })+
            }
        }
    };
}

install! {
    /// The release of istiod.
    version: Version,
    /// The revision; `None` is the one without a name.
    revision: String,
    /// `sidecarInjectorWebhook.rewriteAppHTTPProbe`.
    rewrite: bool,
    /// `REWRITE_TCP_PROBES` of istiod (1.12 to 1.18).
    rewrite_tcp: bool,
    /// `REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION` of the agent.
    probe_localhost: bool,
    /// `meshConfig.rootNamespace`, else `global.istioNamespace`.
    root_namespace: String,
    /// `meshConfig.defaultConfig.statusPort`: the port that rewritten probes target and the agent listens on.
    mesh_status_port: i64,
    /// `global.proxy.statusPort`: the port that is excluded from traffic capture.
    proxy_status_port: i64,
    /// `global.proxy.includeInboundPorts`.
    include_inbound_ports: String,
    /// `global.proxy.excludeInboundPorts`.
    exclude_inbound_ports: String,
    /// `meshConfig.defaultConfig.interceptionMode`.
    interception_mode: String,
    /// `meshConfig.inboundTrafficPolicy.mode`.
    inbound_traffic_policy: String,
    /// `meshConfig.enablePrometheusMerge`.
    prometheus_merge: bool,
    /// `holdApplicationUntilProxyStarts`.
    hold_application: bool,
    /// Whether `global.proxy.lifecycle` replaces the hook with which the sidecar lets the application wait.
    replaces_hold: bool,
    /// Whether the CNI plugin sets up traffic capture.
    cni: bool,
    /// `ENABLE_NATIVE_SIDECARS` of istiod.
    native_sidecars: NativeSidecars,
    /// The mutual TLS mode of the whole mesh, if the operator creates the policy.
    mesh_mtls: MtlsMode,
    /// The network plugin of the cluster.
    network_plugin: NetworkPlugin,
    /// `cni.exclusive` of Cilium: it removes the configuration of other CNI plugins.
    cni_exclusive: bool,
    /// `excludeNamespaces` of the CNI plugin.
    cni_excluded: Vec<String>,
    /// Whether ambient mode is on.
    ambient: bool,
    /// `ambient.enablementSelectors` of the CNI plugin.
    ambient_selectors: Vec<EnablementSelector>,
    /// `sidecarInjectorWebhook.enableNamespacesByDefault`.
    namespaces_by_default: bool,
    /// `global.proxy.autoInject`: whether pods are injected if no label decides.
    auto_inject: bool,
    /// `neverInjectSelector`.
    never_inject: Vec<Requirements>,
    /// `alwaysInjectSelector`.
    always_inject: Vec<Requirements>,
    /// `defaultTemplates`.
    default_templates: Vec<String>,
    /// `reinvocationPolicy` of the webhooks.
    reinvocation_policy: String,
    /// `meshConfig.discoverySelectors`: the namespaces that istiod watches.
    discovery_selectors: Vec<Requirements>,
}

impl Install {
    /// Returns whether the control plane is a fork of Istio, with an injection template of its own.
    ///
    /// Source: maistra/istio-operator 2.0 to 2.5, `resources/helm/*/istio-control/istio-discovery/files`.
    #[must_use]
    pub const fn is_fork(&self) -> bool {
        matches!(self.carrier, Carrier::Maistra | Carrier::MaistraMembers)
    }

    /// Returns an installation that an object describes; its place is the name of the object.
    pub(super) fn of(object: &Object<'_>, carrier: Carrier, part: Part) -> Self {
        let title = match object.name() {
            "" => format!("{} describes the installation", object.kind),
            name => format!("{} `{name}` describes the installation", object.kind),
        };
        let place = object.label_at(object.name_span(), title);
        Self::new(carrier, part, object.name().to_owned(), place)
    }

    /// Returns the embedded texts that cannot be parsed, each with the line of its key.
    pub fn broken(&self) -> impl Iterator<Item = &Label> {
        self.unread
            .iter()
            .filter_map(|reason| reason.place.as_ref())
            .filter(|place| place.message.starts_with(NOT_YAML))
    }

    /// Reads the release from the label that Helm sets on all objects of a chart (1.24+).
    pub(super) fn with_labelled_version(mut self, object: &Object<'_>) -> Self {
        if let Some(entry) = object.label("app.kubernetes.io/version")
            && let Some(version) = entry.value.text().and_then(version::of_tag)
        {
            let message = format!("the chart is from Istio {version}");
            let place = object.label_at(entry.value.span(), message);
            self.version = self.version.or(Some(Fact::known(version, place)));
        }
        self
    }

    /// Returns the name of the revision: `default` if none is written.
    #[must_use]
    pub fn revision_name(&self) -> &str {
        self.revision.as_ref().map_or("default", |fact| &fact.value)
    }

    /// Returns every name of the control plane: its revision, then its tags.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let tags = self.tags.iter().map(|tag| tag.value.as_str());
        let own = !matches!(self.part, Part::Tags { .. });
        own.then(|| self.revision_name()).into_iter().chain(tags)
    }

    /// Returns whether it serves namespaces with the label `istio-injection=enabled`: it has no
    /// revision, or has the tag `default`.
    #[must_use]
    pub fn is_default(&self) -> bool {
        let own = self.revision.is_none() && !matches!(self.part, Part::Tags { .. });
        own || self.tags.iter().any(|tag| tag.value == "default")
    }

    /// Copies values from `other` that are not written here.
    pub fn fill_from(&mut self, other: &Self) {
        self.fill_facts(other);
        if self.more_names.is_none() {
            self.more_names.clone_from(&other.more_names);
        }
        for tag in &other.tags {
            if self.tags.iter().all(|known| known.value != tag.value) {
                self.tags.push(tag.clone());
            }
        }
        self.reads.extend(other.reads.iter().cloned());
        self.unread.extend(other.unread.iter().cloned());
        if self.rejected_config.is_none() {
            self.rejected_config.clone_from(&other.rejected_config);
        }
        self.webhooks.extend(other.webhooks.iter().cloned());
        self.custom_templates
            .extend(other.custom_templates.iter().cloned());
        self.template_aliases
            .extend(other.template_aliases.iter().cloned());
    }
}

/// The kind of object or file that states facts about an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Carrier {
    /// `IstioOperator` of `install.istio.io`.
    IstioOperator,
    /// A values file of Istio's charts, or of a chart that depends on them.
    HelmValues,
    /// Flux's `HelmRelease`.
    HelmRelease,
    /// `HelmChart` of k3s and RKE2.
    HelmChart,
    /// A kustomization with charts.
    Kustomization,
    /// Argo CD's `Application` or `ApplicationSet`.
    Application,
    /// `Istio`, `IstioRevision`, `IstioRevisionTag`, `IstioCNI` or `ZTunnel` of the Sail operator.
    Sail,
    /// `ServiceMeshControlPlane` of OpenShift Service Mesh 2.
    Maistra,
    /// `ServiceMeshMemberRoll` or `ServiceMeshMember` of OpenShift Service Mesh 2.
    MaistraMembers,
    /// ConfigMap `istio`: the mesh configuration.
    MeshConfigMap,
    /// ConfigMap `istio-sidecar-injector`.
    InjectorConfigMap,
    /// `MutatingWebhookConfiguration` of the injector.
    Webhooks,
    /// Rendered objects of a chart: the Deployment of istiod, ConfigMap and DaemonSet of the CNI
    /// plugin.
    Rendered,
}

/// The part of an installation that a carrier describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A whole control plane.
    ControlPlane,
    /// Something that belongs to the control plane of the revision.
    OfRevision,
    /// Tags that are set on the control plane that another object creates.
    Tags {
        /// The kind of that object.
        kind: String,
        /// Its name.
        name: String,
    },
    /// Components that serve all control planes of a cluster: CNI plugin, ztunnel, the base chart.
    Cluster,
    /// The network plugin of a cluster, which does not show that the cluster has a mesh.
    Network,
}

/// One webhook that calls the injector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// Its name, such as `namespace.sidecar-injector.istio.io`.
    pub name: String,
    /// The tag that the configuration belongs to; `None` for the revision itself.
    pub tag: Option<String>,
    /// `namespaceSelector`.
    pub namespaces: Requirements,
    /// `objectSelector`.
    pub objects: Requirements,
    /// The position of its name.
    pub place: Label,
    /// A condition that is not evaluated: `matchConditions`, or an operator of a selector that
    /// Kubernetes does not know.
    pub unevaluated: Option<Label>,
}

impl Webhook {
    /// Returns whether the API server calls the injector for a pod, as far as the selectors can be
    /// read; `namespace` and `pod` return the values of their labels.
    pub fn matches<'a>(
        &self,
        namespace: impl Fn(&str) -> Option<&'a str>,
        pod: impl Fn(&str) -> Option<&'a str>,
    ) -> bool {
        self.namespaces.may_match(namespace) && self.objects.may_match(pod)
    }
}
