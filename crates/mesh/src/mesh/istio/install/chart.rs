//! Istio's charts, and the charts that depend on them.
//!
//! The charts of network plugins: their values state what the plugin does to probes of pods in ambient mode.
//!
//! Sources: the values of the charts `cilium` (Cilium 1.15.7, `install/kubernetes/cilium/README.md`: `bpf.masquerade`
//! is off by default, `cni.exclusive` is on by default), `tigera-operator` (`installation` is the spec of the
//! Installation) and `aws-vpc-cni` (`env` are the variables of the DaemonSet `aws-node`).

use std::sync::Arc;

use meshprobe_yaml::NodeRef;

use super::installation::{Install, Part};
use super::values::{Found, Values};
use super::version::{Exactness, of_chart_version};
use crate::mesh::istio::network_plugin::NetworkPlugin;
use crate::mesh::{Fact, Reason, Version};

/// A YAML document that is not a Kubernetes object: a values file, a `Chart.yaml`.
#[derive(Clone, Copy, Debug)]
pub struct PlainFile<'t> {
    /// The file as shown to the user, with `/`.
    pub path: &'t Arc<str>,
    /// The absolute path of the file.
    pub real_path: Option<&'t str>,
    /// The root of its first document.
    pub root: NodeRef<'t>,
}

impl PlainFile<'_> {
    /// Returns the folder, without a slash at its end.
    #[must_use]
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Returns whether this describes a chart.
    #[must_use]
    pub fn is_chart(&self) -> bool {
        matches!(
            self.path.rsplit('/').next(),
            Some("Chart.yaml" | "Chart.yml")
        )
    }
}

/// A chart of Istio or of a network plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chart {
    /// The control plane.
    Istiod,
    /// Resources of the cluster.
    Base,
    /// The CNI plugin.
    Cni,
    /// The node proxy of ambient mode.
    Ztunnel,
    /// A network plugin.
    Network(NetworkChart),
}

impl Chart {
    /// Returns the chart of that name, without the folders of a registry before it. `istiod-remote`
    /// (until 1.23) installs the webhooks of a control plane that runs in another cluster.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name.trim_end_matches('/').rsplit('/').next()? {
            "istiod" | "istio-discovery" | "istiod-remote" => Some(Self::Istiod),
            "base" | "istio-base" => Some(Self::Base),
            "cni" | "istio-cni" => Some(Self::Cni),
            "ztunnel" => Some(Self::Ztunnel),
            other => NetworkChart::named(other).map(Self::Network),
        }
    }

    /// Returns whether it is a chart of Istio.
    pub(super) const fn is_of_istio(self) -> bool {
        !matches!(self, Self::Network(_))
    }

    /// Returns the chart of that name if a hint also refers to Istio: other projects have
    /// charts named `base` and `cni` as well.
    pub(super) fn named_with_hints<'a>(
        name: &str,
        mut hints: impl Iterator<Item = Option<&'a str>>,
    ) -> Option<Self> {
        let chart = Self::named(name)?;
        let is_plain = matches!(chart, Self::Base | Self::Cni) && !name.contains("istio");
        let is_istio =
            !is_plain || hints.any(|hint| hint.is_some_and(|hint| hint.contains("istio")));
        is_istio.then_some(chart)
    }
}

/// Returns whether the chart with a name and these hints is one of Istio that installs a part of the mesh.
#[must_use]
pub fn installs_mesh<'a>(name: &str, hints: impl Iterator<Item = Option<&'a str>>) -> bool {
    Chart::named_with_hints(name, hints).is_some_and(Chart::is_of_istio)
}

/// Returns whether a chart is that of Istio's gateways: by its name, without the folders of a registry before it, and a
/// hint that refers to Istio.
///
/// Source: Istio 1.30, `manifests/charts/gateway`.
#[must_use]
pub fn is_gateway_chart<'a>(name: &str, mut hints: impl Iterator<Item = &'a str>) -> bool {
    name.rsplit('/').next() == Some("gateway") && hints.any(|hint| hint.contains("istio"))
}

/// A chart of Istio that another chart depends on.
#[derive(Debug)]
pub(super) struct Dependency {
    /// The chart.
    pub(super) chart: Chart,
    /// The key of its values: the alias, else the name.
    pub(super) key: String,
    /// The release, if one is named.
    pub(super) version: Option<Fact<Version>>,
}

/// Returns the charts of Istio that a `Chart.yaml` depends on.
///
/// `base` and `cni` are common names: they only count next to a chart that certainly belongs to Istio, or with
/// Istio's repository.
pub(super) fn dependencies(chart: &PlainFile<'_>) -> Vec<Dependency> {
    let items = || {
        chart
            .root
            .get("dependencies")
            .into_iter()
            .flat_map(NodeRef::items)
    };
    let name = |item: NodeRef<'_>| item.get("name").and_then(NodeRef::text).map(str::to_owned);
    let is_sure = items().any(|item| {
        let repository = item.get("repository").and_then(NodeRef::text);
        repository.is_some_and(|repository| repository.contains("istio"))
            || name(item).is_some_and(|name| matches!(name.as_str(), "istiod" | "ztunnel"))
    });
    let read = |item: NodeRef<'_>| {
        let dependency_name = name(item)?;
        let known = Chart::named(&dependency_name)?;
        let alias = item.get("alias").and_then(NodeRef::text);
        Some(Dependency {
            chart: known,
            key: alias.unwrap_or(&dependency_name).to_owned(),
            version: item.get("version").and_then(|node| version_in(chart, node)),
        })
    };
    items()
        .filter_map(read)
        .filter(|found| is_sure || !found.chart.is_of_istio())
        .collect()
}

/// Returns the chart of Istio that this `Chart.yaml` describes itself, as in a copy of the charts.
pub(super) fn vendored(chart: &PlainFile<'_>) -> Option<(Chart, Option<Fact<Version>>)> {
    let named = Chart::named(chart.root.get("name")?.text()?)?;
    let text = |key: &str| chart.root.get(key).and_then(NodeRef::text);
    let is_istio = text("home").is_some_and(|home| home.contains("istio"))
        || text("sources").is_some_and(|sources| sources.contains("istio"))
        || chart
            .root
            .get("sources")
            .into_iter()
            .flat_map(NodeRef::items)
            .any(|source| source.text().is_some_and(|source| source.contains("istio")))
        || matches!(named, Chart::Istiod | Chart::Ztunnel | Chart::Network(_));
    let version = ["appVersion", "version"]
        .into_iter()
        .filter_map(|key| chart.root.get(key))
        .find_map(|node| version_in(chart, node));
    is_istio.then_some((named, version))
}

fn version_in(chart: &PlainFile<'_>, node: NodeRef<'_>) -> Option<Fact<Version>> {
    version_fact(&Found::of(node, chart.path))
}

/// Reads a chart version as a fact: for a range, the lowest release, which is then assumed.
pub(super) fn version_fact(found: &Found<'_>) -> Option<Fact<Version>> {
    let text = found.string()?;
    let (version, exactness) = of_chart_version(text)?;
    // The charts of network plugins have other releases than Istio's.
    let source = if version.major == 1 {
        "from Istio"
    } else {
        "of release"
    };
    Some(match exactness {
        Exactness::Release => {
            let message = format!("the chart is {source} {version}");
            Fact::known(version, found.label(message))
        }
        Exactness::AtLeast => {
            let message = format!("the chart is {source} {version} or later");
            Fact::known((), found.label(message))
                .depending_on(&Fact::assumed(
                    (),
                    format!("the release is {version}"),
                    Some("--mesh-version"),
                ))
                .map(|()| version)
        }
    })
}

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
