//! The network plugin of the cluster, which decides whether the kubelet's packets reach pods in ambient mode.
//!
//! `istio-cni` changes the source address of these packets to 169.254.7.127, or to
//! `fd16:9254:7127:1337:ffff:ffff:ffff:ffff`. Source: `cni/pkg/nodeagent/options.go`.
//!
//! Reads the network plugin from objects of the tree.

use std::fmt;

use meshprobe_yaml::{FieldPath, NodeRef};

use crate::kube::{Container, Object, Workload};
use crate::mesh::{Fact, Version};

/// The first release of Calico whose eBPF data plane delivers the packets. Source: istio issue 52765.
pub const FIXED_CALICO: Version = Version::new(3, 29);

/// A network plugin, with the setting that matters for probes of pods in ambient mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NetworkPlugin {
    /// AWS VPC CNI, without security groups for pods in strict mode.
    AwsVpcCni,
    /// AWS VPC CNI with security groups for pods in strict mode.
    AwsVpcCniStrict,
    /// Calico with another data plane than eBPF, or Calico 3.29 and later.
    Calico,
    /// Calico with the eBPF data plane, before 3.29.
    CalicoEbpf,
    /// Cilium without `bpf.masquerade`.
    Cilium,
    /// Cilium with `bpf.masquerade: true`.
    CiliumBpfMasquerade,
    /// A plugin that is not in this list and delivers the packets.
    Other,
    /// OVN-Kubernetes in shared gateway mode.
    OvnKubernetes,
    /// OVN-Kubernetes in local gateway mode.
    OvnKubernetesLocalGateway,
}

/// What a plugin does to the kubelet's packets to pods in ambient mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It delivers them.
    Delivers,
    /// It drops them. The text says how to change that.
    Drops(&'static str),
    /// It drops them according to reports of users, if the release is as assumed.
    DropsByReports(&'static str),
    /// It drops those to pods that a `SecurityGroupPolicy` selects, before some releases of Istio.
    DropsIfSecurityGroup(&'static str),
}

impl NetworkPlugin {
    /// All plugins, sorted by name.
    pub const ALL: [Self; 9] = [
        Self::AwsVpcCni,
        Self::AwsVpcCniStrict,
        Self::Calico,
        Self::CalicoEbpf,
        Self::Cilium,
        Self::CiliumBpfMasquerade,
        Self::Other,
        Self::OvnKubernetes,
        Self::OvnKubernetesLocalGateway,
    ];

    /// Returns the name in options and in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AwsVpcCni => "aws-vpc-cni",
            Self::AwsVpcCniStrict => "aws-vpc-cni-strict",
            Self::Calico => "calico",
            Self::CalicoEbpf => "calico-ebpf",
            Self::Cilium => "cilium",
            Self::CiliumBpfMasquerade => "cilium-bpf-masquerade",
            Self::Other => "other",
            Self::OvnKubernetes => "ovn-kubernetes",
            Self::OvnKubernetesLocalGateway => "ovn-kubernetes-local-gateway",
        }
    }

    /// Returns whether it is Cilium.
    #[must_use]
    pub const fn is_cilium(self) -> bool {
        matches!(self, Self::Cilium | Self::CiliumBpfMasquerade)
    }

    /// Returns a description for messages.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::AwsVpcCni => "the AWS VPC CNI",
            Self::AwsVpcCniStrict => "the AWS VPC CNI with security groups for pods in strict mode",
            Self::Calico => "Calico",
            Self::CalicoEbpf => "Calico with the eBPF data plane",
            Self::Cilium => "Cilium without `bpf.masquerade`",
            Self::CiliumBpfMasquerade => "Cilium with `bpf.masquerade: true`",
            Self::Other => "another network plugin",
            Self::OvnKubernetes => "OVN-Kubernetes in shared gateway mode",
            Self::OvnKubernetesLocalGateway => "OVN-Kubernetes in local gateway mode",
        }
    }

    /// Returns what the plugin does to the kubelet's packets to pods in ambient mode.
    ///
    /// Sources: istio.io pull requests 15551 and 16660 and istio issue 52208 (Cilium), istio.io pull request 16877
    /// (OVN-Kubernetes), istio issue 52765 (Calico, a report of users), istio pull request 59778 (AWS VPC CNI).
    #[must_use]
    pub const fn delivery(self) -> Delivery {
        match self {
            Self::AwsVpcCni
            | Self::Calico
            | Self::Cilium
            | Self::Other
            | Self::OvnKubernetesLocalGateway => Delivery::Delivers,
            Self::CiliumBpfMasquerade => {
                Delivery::Drops("set `bpf.masquerade: false` in the values of Cilium")
            }
            Self::OvnKubernetes => Delivery::Drops(
                "set `routingViaHost: true` in `spec.defaultNetwork.ovnKubernetesConfig.gatewayConfig` of the \
                 Network `cluster` (`operator.openshift.io/v1`)",
            ),
            Self::CalicoEbpf => Delivery::DropsByReports(
                "update Calico to 3.29 or later, or set `linuxDataplane: Iptables`; if Calico is up to date, pass \
                 `--override network-plugin=calico`",
            ),
            Self::AwsVpcCniStrict => Delivery::DropsIfSecurityGroup(
                "update Istio to 1.28.7, 1.29.3, 1.30.0 or later, or set \
                 `POD_SECURITY_GROUP_ENFORCING_MODE` of the DaemonSet `aws-node` to `standard`",
            ),
        }
    }
}

impl fmt::Display for NetworkPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The API groups of Calico's own objects: as stored, and as served by its API server.
pub(crate) const CALICO_GROUPS: [&str; 2] = ["crd.projectcalico.org", "projectcalico.org"];

/// The option that replaces what objects of the tree state about the network plugin.
pub const OVERRIDE: &str = "--override network-plugin=NAME";

/// Returns whether an object may state the network plugin of its cluster: a cheap check before [`from_object`].
#[must_use]
pub fn concerns(object: &Object<'_>) -> bool {
    match (object.group(), object.kind) {
        ("operator.openshift.io", "Network") | ("operator.tigera.io", "Installation") => true,
        (group, "FelixConfiguration") => CALICO_GROUPS.contains(&group),
        ("", "ConfigMap") => object.name() == "cilium-config",
        ("apps", "DaemonSet") => matches!(object.name(), "aws-node" | "calico-node"),
        _ => false,
    }
}

/// Reads the network plugin that an object states; `None` if it states none.
#[must_use]
pub fn from_object(object: &Object<'_>) -> Option<Fact<NetworkPlugin>> {
    if !concerns(object) {
        return None;
    }
    match object.kind {
        "ConfigMap" => cilium(object),
        "Network" => openshift(object),
        "Installation" => calico_operator(object),
        "FelixConfiguration" => felix(object),
        _ if object.name() == "aws-node" => aws(object),
        _ => calico_node(object),
    }
}

/// Reads the release of Calico from the image of the DaemonSet `calico-node`.
#[must_use]
pub fn calico_release(object: &Object<'_>) -> Option<Fact<Version>> {
    if !concerns(object) || object.name() != "calico-node" {
        return None;
    }
    let image = container(object, "calico-node")?.node.get("image")?;
    let name = image.text()?.split('@').next()?;
    let (_, tag) = name.rsplit_once(':')?;
    let release: Version = tag.parse().ok()?;
    let message = format!("the image is from Calico {release}");
    Some(Fact::known(release, object.label_at(image.span(), message)))
}

/// Reads the ConfigMap of the Cilium agent. Source: Cilium, `cilium-configmap.yaml` of its chart; BPF masquerading is
/// off by default.
fn cilium(object: &Object<'_>) -> Option<Fact<NetworkPlugin>> {
    let data = object.node.get("data")?;
    let masquerade = data.get("enable-bpf-masquerade");
    if text(masquerade) == Some("true") {
        return written(object, masquerade?, NetworkPlugin::CiliumBpfMasquerade);
    }
    match masquerade {
        Some(node) if text(Some(node)) != Some("false") => None,
        Some(node) => written(object, node, NetworkPlugin::Cilium),
        None => named(object, NetworkPlugin::Cilium),
    }
}

/// Reads whether Cilium removes the configuration of other CNI plugins, from the ConfigMap of its agent.
#[must_use]
pub fn is_exclusive(object: &Object<'_>) -> Option<Fact<bool>> {
    if !concerns(object) || object.kind != "ConfigMap" {
        return None;
    }
    let node = object.node.get("data")?.get("cni-exclusive")?;
    let value = text(Some(node))?.parse().ok()?;
    let message = format!("`cni-exclusive` is {value}");
    Some(Fact::known(value, object.label_at(node.span(), message)))
}

/// Reads the Network of OpenShift. Source: OpenShift API, `operator/v1`, `GatewayConfig`; `routingViaHost` is false by
/// default.
fn openshift(object: &Object<'_>) -> Option<Fact<NetworkPlugin>> {
    let network = object.node.get("spec")?.get("defaultNetwork")?;
    let gateway = FieldPath::keys(&["ovnKubernetesConfig", "gatewayConfig", "routingViaHost"]);
    let via_host = network.at(&gateway);
    match (network.get("type"), via_host) {
        (Some(plugin), _) if plugin.text() != Some("OVNKubernetes") => None,
        (_, Some(node)) => match node.text()? {
            "true" => written(object, node, NetworkPlugin::OvnKubernetesLocalGateway),
            "false" => written(object, node, NetworkPlugin::OvnKubernetes),
            _ => None,
        },
        (Some(plugin), None) => {
            let message = "the gateway mode is shared (default of `routingViaHost`)";
            let default = Fact::default((), message, OVERRIDE);
            Some(written(object, plugin, NetworkPlugin::OvnKubernetes)?.depending_on(&default))
        }
        (None, None) => None,
    }
}

/// Reads the installation of the Calico operator. Source: operator.tigera.io/v1, `CalicoNetworkSpec`; the data plane is
/// `Iptables` or, since 3.31, `Nftables` by default. With another `cni.type`, Calico only enforces policies.
fn calico_operator(object: &Object<'_>) -> Option<Fact<NetworkPlugin>> {
    let spec = object.node.get("spec")?;
    let dataplane = spec.get("calicoNetwork")?.get("linuxDataplane");
    let cni = spec.get("cni").and_then(|cni| cni.get("type"));
    match dataplane {
        Some(node) if node.text() == Some("BPF") => {
            written(object, node, NetworkPlugin::CalicoEbpf)
        }
        _ if cni.is_some_and(|cni| cni.text() != Some("Calico")) => None,
        Some(node) if !matches!(node.text(), Some("Iptables" | "Nftables")) => None,
        Some(node) => written(object, node, NetworkPlugin::Calico),
        None => named(object, NetworkPlugin::Calico),
    }
}

/// Reads the configuration of Calico's node agent, which states only whether the data plane is eBPF.
fn felix(object: &Object<'_>) -> Option<Fact<NetworkPlugin>> {
    let enabled = object.node.get("spec")?.get("bpfEnabled")?;
    let is_on = text(Some(enabled)) == Some("true");
    is_on.then(|| written(object, enabled, NetworkPlugin::CalicoEbpf))?
}

/// Reads the DaemonSet of Calico's node agent.
fn calico_node(object: &Object<'_>) -> Option<Fact<NetworkPlugin>> {
    let agent = container(object, "calico-node")?;
    match agent.env("FELIX_BPFENABLED").map(|env| env.value()) {
        Some(Some(value)) if is_true(value) => written(object, value, NetworkPlugin::CalicoEbpf),
        Some(None) => None,
        _ => named(object, NetworkPlugin::Calico),
    }
}

/// Reads the DaemonSet of the AWS VPC CNI: `POD_SECURITY_GROUP_ENFORCING_MODE` is `strict` by default, and has an effect
/// only if `ENABLE_POD_ENI` is true. Source: documentation of Istio, "Platform-Specific Prerequisites" of ambient mode,
/// which requires the mode `standard` for pods with a SecurityGroupPolicy.
fn aws(object: &Object<'_>) -> Option<Fact<NetworkPlugin>> {
    let agent = container(object, "aws-node")?;
    let interfaces = match agent.env("ENABLE_POD_ENI") {
        Some(env) => Some(env.value()?),
        None => None,
    };
    let mode = match agent.env("POD_SECURITY_GROUP_ENFORCING_MODE") {
        Some(env) => Some(env.value()?),
        None => None,
    };
    match (interfaces, mode) {
        (Some(interfaces), _) if !is_true(interfaces) => {
            written(object, interfaces, NetworkPlugin::AwsVpcCni)
        }
        (_, Some(mode)) if mode.text() == Some("standard") => {
            written(object, mode, NetworkPlugin::AwsVpcCni)
        }
        (None, None) => named(object, NetworkPlugin::AwsVpcCni),
        (interfaces, mode) => written(object, mode.or(interfaces)?, NetworkPlugin::AwsVpcCniStrict),
    }
}

/// Returns the container of a DaemonSet with this name.
fn container<'t>(object: &Object<'t>, name: &str) -> Option<Container<'t>> {
    let containers = Workload::from_object(object)?.template.containers();
    containers.into_iter().find(|found| found.name() == name)
}

fn is_true(node: NodeRef<'_>) -> bool {
    text(Some(node)).is_some_and(|text| text.eq_ignore_ascii_case("true"))
}

fn text<'t>(node: Option<NodeRef<'t>>) -> Option<&'t str> {
    Some(node?.text()?.trim())
}

/// Returns the fact that a field states.
fn written(
    object: &Object<'_>,
    node: NodeRef<'_>,
    plugin: NetworkPlugin,
) -> Option<Fact<NetworkPlugin>> {
    let message = format!("the network plugin is {}", plugin.title());
    Some(Fact::known(plugin, object.label_at(node.span(), message)))
}

/// Returns the fact that the presence of an object states.
fn named(object: &Object<'_>, plugin: NetworkPlugin) -> Option<Fact<NetworkPlugin>> {
    let message = format!("the network plugin is {}", plugin.title());
    Some(Fact::known(
        plugin,
        object.label_at(object.name_span(), message),
    ))
}
