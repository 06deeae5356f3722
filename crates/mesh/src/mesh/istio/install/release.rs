//! One release of a chart: which of Istio's charts it contains, and their values.

use std::sync::Arc;

use meshprobe_yaml::NodeRef;

use super::carrier::Part;
use super::carrier_context::{CarrierContext, PlainFile};
use super::chart::{Chart, dependencies, is_gateway_chart, vendored};
use super::installation::Install;
use super::istiod;
use super::layer::Layer;
use super::values::Values;
use crate::mesh::{Fact, Reason, Version};

/// The chart of a release.
#[derive(Debug)]
pub(super) enum ChartSource<'a, 't> {
    /// A chart of Istio from a chart repository, and its release.
    Istio(Chart, Option<Fact<Version>>),
    /// A chart in a folder of the tree.
    Folder(&'a CarrierContext<'a, 't>, PlainFile<'t>),
}

/// A chart with the values that a carrier gives it.
#[derive(Debug)]
pub(super) struct Release<'a, 't> {
    /// The chart.
    pub(super) chart: ChartSource<'a, 't>,
    /// The values, without those of the chart itself.
    pub(super) values: Values<'t>,
    /// Values files that were included.
    pub(super) reads: Vec<Arc<str>>,
    /// Values that could not be read.
    pub(super) unread: Vec<Reason>,
}

impl<'t> Release<'_, 't> {
    /// Returns the installations of the release, each based on a copy of `blank`.
    pub(super) fn installs(mut self, blank: &Install) -> Vec<Install> {
        let charts = match &self.chart {
            ChartSource::Istio(chart, version) => vec![(*chart, None, version.clone())],
            ChartSource::Folder(around, file) => {
                let file = *file;
                self.add_own_values(around, &file);
                charts_in(&file)
            }
        };
        charts
            .into_iter()
            .map(|(chart, key, version)| {
                let values = key.map(|key: String| self.values.under(&key));
                self.install(
                    blank,
                    chart,
                    values.as_ref().unwrap_or(&self.values),
                    version,
                )
            })
            .collect()
    }

    /// Adds the weakest layer: `values.yaml` in the folder of `Chart.yaml`.
    fn add_own_values(&mut self, around: &CarrierContext<'_, 't>, chart: &PlainFile<'t>) {
        let mut own = around.files_named("values.yaml");
        let own = own.find(|file| {
            file.folder() == chart.folder() && file.path.rsplit('/').next() == Some("values.yaml")
        });
        if let Some(own) = own {
            self.values.layers.extend(layers_of(own));
            self.reads.push(Arc::clone(own.path));
        }
    }

    fn install(
        &self,
        blank: &Install,
        chart: Chart,
        values: &Values<'_>,
        version: Option<Fact<Version>>,
    ) -> Install {
        let mut install = blank.clone();
        install.reads.clone_from(&self.reads);
        install.unread.clone_from(&self.unread);
        read_chart(&mut install, chart, values, version);
        install
    }
}

/// Returns the charts of Istio in a `Chart.yaml`: the chart itself, or its dependencies with the key of
/// their values.
pub(super) fn charts_in(
    file: &PlainFile<'_>,
) -> Vec<(Chart, Option<String>, Option<Fact<Version>>)> {
    if let Some((chart, version)) = vendored(file) {
        return vec![(chart, None, version)];
    }
    dependencies(file)
        .into_iter()
        .map(|dependency| (dependency.chart, Some(dependency.key), dependency.version))
        .collect()
}

/// Returns whether a `Chart.yaml` describes a chart of Istio, or one that only depends on such charts.
#[must_use]
pub fn has_only_istio_charts(file: &PlainFile<'_>) -> bool {
    let all = || {
        let list = file.root.get("dependencies");
        list.into_iter().flat_map(NodeRef::items)
    };
    let is_gateway = |item: &NodeRef<'_>| {
        let text = |key: &str| item.get(key).and_then(NodeRef::text);
        is_gateway_chart(
            text("name").unwrap_or_default(),
            text("repository").into_iter(),
        )
    };
    let dependencies = dependencies(file);
    let of_istio = dependencies
        .iter()
        .filter(|found| found.chart.is_of_istio());
    let of_istio = of_istio.count() + all().filter(is_gateway).count();
    vendored(file).is_some_and(|(chart, _)| chart.is_of_istio())
        || of_istio > 0 && of_istio == all().count()
}

/// Returns the layers of a values file. In a copy of Istio's charts, the defaults are under a
/// separate key, which is weaker than all that is set (`templates/zzz_profile.yaml`).
pub(super) fn layers_of<'t>(file: &PlainFile<'t>) -> Vec<Layer<'t>> {
    let inner = ["defaults", "_internal_defaults_do_not_set"]
        .into_iter()
        .find_map(|key| file.root.get(key));
    std::iter::once(file.root)
        .chain(inner)
        .map(|node| Layer::file(node, file.path))
        .collect()
}

/// Reads the values of one chart.
pub(super) fn read_chart(
    install: &mut Install,
    chart: Chart,
    values: &Values<'_>,
    version: Option<Fact<Version>>,
) {
    let version = version.filter(|version| version.value.major == 1 || !chart.is_of_istio());
    let place = install.place.clone();
    let present = |message: &str| {
        let mut label = place.clone();
        label.message = message.to_owned();
        Fact::known(true, label)
    };
    match chart {
        Chart::Network(chart) => chart.read_into(install, values, version),
        Chart::Istiod => {
            install.part = Part::ControlPlane;
            istiod::read_into(install, values);
            // The version of the image takes precedence over that of the chart.
            install.version = install.version.take().or(version);
        }
        Chart::Base | Chart::Cni | Chart::Ztunnel => {
            install.part = Part::Cluster;
            let same = "all of Istio's charts are from one release";
            install.version = version.map(|version| {
                version.depending_on(&Fact::assumed((), same, Some("--mesh-version")))
            });
            if chart == Chart::Cni {
                istiod::read_cni_into(install, values);
                let message =
                    "istiod leaves traffic capture to the CNI plugin (`pilot.cni.enabled`)";
                let fact = present("the CNI plugin is installed here");
                install.cni = Some(fact.depending_on(&Fact::assumed(
                    (),
                    message,
                    Some("--override cni=true|false"),
                )));
            } else if chart == Chart::Ztunnel {
                install.ambient = Some(present(
                    "ztunnel, the node proxy of ambient mode, is installed here",
                ));
            }
        }
    }
}
