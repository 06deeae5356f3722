//! The charts of network plugins: their values state what the plugin does to probes of pods in ambient mode.
//!
//! Sources: the values of the charts `cilium` (Cilium 1.15.7, `install/kubernetes/cilium/README.md`: `bpf.masquerade`
//! is off by default, `cni.exclusive` is on by default), `tigera-operator` (`installation` is the spec of the
//! Installation) and `aws-vpc-cni` (`env` are the variables of the DaemonSet `aws-node`).

use crate::mesh::istio::network_plugin::NetworkPlugin;
use crate::mesh::{Fact, Reason, Version};

use super::installation::Install;
use super::installation::Part;
use super::values::Values;

/// The option that replaces what the tree states about the network plugin.
const OVERRIDE: &str = "--override network-plugin=NAME";

/// The chart of a network plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NetworkChart {
    /// `aws-vpc-cni`.
    AwsVpcCni,
    /// `tigera-operator`, the operator of Calico.
    Calico,
    /// `cilium`.
    Cilium,
}

impl NetworkChart {
    /// Returns the chart with a name.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "aws-vpc-cni" => Some(Self::AwsVpcCni),
            "tigera-operator" => Some(Self::Calico),
            "cilium" => Some(Self::Cilium),
            _ => None,
        }
    }

    /// Reads the values of the chart.
    pub(super) fn read_into(
        self,
        install: &mut Install,
        values: &Values<'_>,
        version: Option<Fact<Version>>,
    ) {
        install.part = Part::Network;
        let plugin = match self {
            Self::AwsVpcCni => aws(values),
            Self::Calico => {
                install.version = version;
                calico(values)
            }
            Self::Cilium => {
                let exclusive = exclusive(values, install);
                install.cni_exclusive = Some(with_unread(exclusive, install));
                cilium(values)
            }
        };
        let Some(plugin) = plugin else { return };
        let mut place = install.place.clone();
        place.message = format!("the network plugin is {}", plugin.value.title());
        let fact = Fact::known(plugin.value, place).depending_on(&plugin);
        install.network_plugin = Some(with_unread(fact, install));
    }
}

/// Lowers the certainty of a value if some values of the chart could not be read.
fn with_unread<T>(fact: Fact<T>, install: &Install) -> Fact<T> {
    install.unread.iter().fold(fact, |fact, reason| {
        let message = format!("other values do not change this: {}", reason.message);
        fact.depending_on(&Fact::assumed((), message, Some(OVERRIDE)))
    })
}

/// Returns the value at a path as a boolean, or the default.
fn switch(values: &Values<'_>, path: &str, default: bool, settle: &'static str) -> Fact<bool> {
    let written = values.boolean(path, default);
    written.unwrap_or_else(|| {
        let message = format!("`{path}` is {default} (default of the chart)");
        Fact::default(default, message, settle)
    })
}

/// Returns whether Cilium removes the configuration of other CNI plugins. A default has the position of the chart.
fn exclusive(values: &Values<'_>, install: &Install) -> Fact<bool> {
    let exclusive = switch(values, "cni.exclusive", true, OVERRIDE);
    if exclusive
        .because
        .iter()
        .any(|reason| reason.place.is_some())
    {
        return exclusive;
    }
    let mut place = install.place.clone();
    place.message = "the chart of Cilium is installed here".to_owned();
    exclusive.preceded_by(Reason::written(place))
}

fn cilium(values: &Values<'_>) -> Option<Fact<NetworkPlugin>> {
    let masquerade = switch(values, "bpf.masquerade", false, OVERRIDE);
    Some(masquerade.map(|is_on| match is_on {
        true => NetworkPlugin::CiliumBpfMasquerade,
        false => NetworkPlugin::Cilium,
    }))
}

/// Reads the Installation of Calico; `None` if another plugin gives pods their addresses, or if its data plane is not
/// known.
fn calico(values: &Values<'_>) -> Option<Fact<NetworkPlugin>> {
    let text = |path: &str| values.string(path, "");
    if let Some(dataplane) = text("installation.calicoNetwork.linuxDataplane") {
        let plugin = match dataplane.value.as_str() {
            "BPF" => NetworkPlugin::CalicoEbpf,
            "Iptables" | "Nftables" => NetworkPlugin::Calico,
            _ => return None,
        };
        return Some(dataplane.map(|_| plugin));
    }
    let cni = text("installation.cni.type");
    if cni.is_some_and(|cni| cni.value != "Calico") {
        return None;
    }
    let message = "the data plane is not eBPF (default of `linuxDataplane`)";
    Some(Fact::default(NetworkPlugin::Calico, message, OVERRIDE))
}

fn aws(values: &Values<'_>) -> Option<Fact<NetworkPlugin>> {
    let interfaces = switch(values, "env.ENABLE_POD_ENI", false, OVERRIDE);
    if !interfaces.value {
        return Some(interfaces.map(|_| NetworkPlugin::AwsVpcCni));
    }
    let mode = values.string("env.POD_SECURITY_GROUP_ENFORCING_MODE", "strict");
    let mode = mode.unwrap_or_else(|| {
        let message = "`POD_SECURITY_GROUP_ENFORCING_MODE` is strict (default)";
        Fact::default("strict".to_owned(), message, OVERRIDE)
    });
    Some(
        interfaces
            .depending_on(&mode)
            .map(|_| match mode.value.as_str() {
                "standard" => NetworkPlugin::AwsVpcCni,
                _ => NetworkPlugin::AwsVpcCniStrict,
            }),
    )
}
