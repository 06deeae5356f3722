//! Istio's charts, and the charts that depend on them.

use std::sync::Arc;

use meshprobe_yaml::NodeRef;

use super::network_chart::NetworkChart;
use super::values::Found;
use super::version::{Exactness, of_chart_version};
use crate::mesh::{Fact, Version};

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
