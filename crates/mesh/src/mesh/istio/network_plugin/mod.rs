//! The network plugin of the cluster, which decides whether the kubelet's packets reach pods in ambient mode.
//!
//! `istio-cni` changes the source address of these packets to 169.254.7.127, or to
//! `fd16:9254:7127:1337:ffff:ffff:ffff:ffff`. Source: `cni/pkg/nodeagent/options.go`.

mod objects;

use std::fmt;
use std::str::FromStr;

pub use objects::{OVERRIDE, calico_release, concerns, from_object, is_exclusive};

use crate::mesh::Version;

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

    /// The names of [`Self::ALL`].
    pub const NAMES: [&'static str; 9] = [
        Self::AwsVpcCni.as_str(),
        Self::AwsVpcCniStrict.as_str(),
        Self::Calico.as_str(),
        Self::CalicoEbpf.as_str(),
        Self::Cilium.as_str(),
        Self::CiliumBpfMasquerade.as_str(),
        Self::Other.as_str(),
        Self::OvnKubernetes.as_str(),
        Self::OvnKubernetesLocalGateway.as_str(),
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

impl FromStr for NetworkPlugin {
    type Err = ();

    /// Parses a name of [`Self::NAMES`].
    fn from_str(text: &str) -> Result<Self, ()> {
        let mut all = Self::ALL.into_iter();
        all.find(|plugin| plugin.as_str() == text).ok_or(())
    }
}
