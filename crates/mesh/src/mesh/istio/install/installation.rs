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

    /// The release of istiod.
    pub version: Option<Fact<Version>>,
    /// The revision; `None` is the one without a name.
    pub revision: Option<Fact<String>>,
    /// `revisionTags`, and tags that other objects set.
    pub tags: Vec<Fact<String>>,
    /// Why it may have more names than are written.
    pub more_names: Option<Reason>,
    /// Its webhooks, if the tree contains them: they are evaluated as written.
    pub webhooks: Vec<Webhook>,

    /// `sidecarInjectorWebhook.rewriteAppHTTPProbe`.
    pub rewrite: Option<Fact<bool>>,
    /// `REWRITE_TCP_PROBES` of istiod (1.12 to 1.18).
    pub rewrite_tcp: Option<Fact<bool>>,
    /// `REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION` of the agent.
    pub probe_localhost: Option<Fact<bool>>,
    /// `meshConfig.rootNamespace`, else `global.istioNamespace`.
    pub root_namespace: Option<Fact<String>>,
    /// `meshConfig.defaultConfig.statusPort`: the port that rewritten probes target and the agent listens on.
    pub mesh_status_port: Option<Fact<i64>>,
    /// `global.proxy.statusPort`: the port that is excluded from traffic capture.
    pub proxy_status_port: Option<Fact<i64>>,
    /// `global.proxy.includeInboundPorts`.
    pub include_inbound_ports: Option<Fact<String>>,
    /// `global.proxy.excludeInboundPorts`.
    pub exclude_inbound_ports: Option<Fact<String>>,
    /// `meshConfig.defaultConfig.interceptionMode`.
    pub interception_mode: Option<Fact<String>>,
    /// `meshConfig.inboundTrafficPolicy.mode`.
    pub inbound_traffic_policy: Option<Fact<String>>,
    /// `meshConfig.enablePrometheusMerge`.
    pub prometheus_merge: Option<Fact<bool>>,
    /// `holdApplicationUntilProxyStarts`.
    pub hold_application: Option<Fact<bool>>,
    /// Whether `global.proxy.lifecycle` replaces the hook with which the sidecar lets the application wait.
    pub replaces_hold: Option<Fact<bool>>,
    /// Whether the CNI plugin sets up traffic capture.
    pub cni: Option<Fact<bool>>,
    /// `ENABLE_NATIVE_SIDECARS` of istiod.
    pub native_sidecars: Option<Fact<NativeSidecars>>,
    /// The mutual TLS mode of the whole mesh, if the operator creates the policy.
    pub mesh_mtls: Option<Fact<MtlsMode>>,
    /// The network plugin of the cluster.
    pub network_plugin: Option<Fact<NetworkPlugin>>,
    /// `cni.exclusive` of Cilium: it removes the configuration of other CNI plugins.
    pub cni_exclusive: Option<Fact<bool>>,
    /// `excludeNamespaces` of the CNI plugin.
    pub cni_excluded: Option<Fact<Vec<String>>>,
    /// Whether ambient mode is on.
    pub ambient: Option<Fact<bool>>,
    /// `ambient.enablementSelectors` of the CNI plugin.
    pub ambient_selectors: Option<Fact<Vec<EnablementSelector>>>,

    /// `sidecarInjectorWebhook.enableNamespacesByDefault`.
    pub namespaces_by_default: Option<Fact<bool>>,
    /// `global.proxy.autoInject`: whether pods are injected if no label decides.
    pub auto_inject: Option<Fact<bool>>,
    /// `neverInjectSelector`.
    pub never_inject: Option<Fact<Vec<Requirements>>>,
    /// `alwaysInjectSelector`.
    pub always_inject: Option<Fact<Vec<Requirements>>>,
    /// `defaultTemplates`.
    pub default_templates: Option<Fact<Vec<String>>>,
    /// Names of custom injection templates.
    pub custom_templates: Vec<Fact<String>>,
    /// Aliases of several templates.
    pub template_aliases: Vec<Fact<(String, Vec<String>)>>,
    /// `reinvocationPolicy` of the webhooks.
    pub reinvocation_policy: Option<Fact<String>>,
    /// `meshConfig.discoverySelectors`: the namespaces that istiod watches.
    pub discovery_selectors: Option<Fact<Vec<Requirements>>>,
}

impl Install {
    /// Returns whether the control plane is a fork of Istio, with an injection template of its own.
    ///
    /// Source: maistra/istio-operator 2.0 to 2.5, `resources/helm/*/istio-control/istio-discovery/files`.
    #[must_use]
    pub const fn is_fork(&self) -> bool {
        matches!(self.carrier, Carrier::Maistra | Carrier::MaistraMembers)
    }

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
            version: None,
            revision: None,
            tags: Vec::new(),
            more_names: None,
            webhooks: Vec::new(),
            rewrite: None,
            rewrite_tcp: None,
            probe_localhost: None,
            root_namespace: None,
            mesh_status_port: None,
            proxy_status_port: None,
            include_inbound_ports: None,
            exclude_inbound_ports: None,
            interception_mode: None,
            inbound_traffic_policy: None,
            prometheus_merge: None,
            hold_application: None,
            replaces_hold: None,
            cni: None,
            native_sidecars: None,
            mesh_mtls: None,
            network_plugin: None,
            cni_exclusive: None,
            cni_excluded: None,
            ambient: None,
            ambient_selectors: None,
            namespaces_by_default: None,
            auto_inject: None,
            never_inject: None,
            always_inject: None,
            default_templates: None,
            custom_templates: Vec::new(),
            template_aliases: Vec::new(),
            reinvocation_policy: None,
            discovery_selectors: None,
        }
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
        macro_rules! fill {
            ($($field:ident),+ $(,)?) => {
                $(if self.$field.is_none() { self.$field.clone_from(&other.$field); })+
            };
        }
        fill!(
            version,
            more_names,
            rewrite,
            rewrite_tcp,
            probe_localhost,
            root_namespace,
            mesh_status_port,
            proxy_status_port,
            include_inbound_ports,
            exclude_inbound_ports,
            interception_mode,
            inbound_traffic_policy,
            prometheus_merge,
            hold_application,
            replaces_hold,
            cni,
            native_sidecars,
            mesh_mtls,
            network_plugin,
            cni_exclusive,
            cni_excluded,
            ambient,
            ambient_selectors,
            namespaces_by_default,
            auto_inject,
            never_inject,
            always_inject,
            default_templates,
            reinvocation_policy,
            discovery_selectors,
        );
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
