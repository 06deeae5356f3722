//! One release of a chart: which of Istio's charts it brings, and their values.

use std::sync::Arc;

use crate::mesh::{Fact, Reason, Version};

use super::chart::{Chart, dependencies, vendored};
use super::layer::Layer;
use super::surroundings::{PlainFile, Surroundings};
use super::values::Values;
use super::{Install, Part, istiod};

/// The chart of a release.
#[derive(Debug)]
pub(super) enum ChartSource<'a, 't> {
    /// A chart of Istio from a repository of charts, and its release.
    Istio(Chart, Option<Fact<Version>>),
    /// A chart in a folder of the tree.
    Folder(&'a Surroundings<'a, 't>, PlainFile<'t>),
}

/// A chart with the values that a carrier gives it.
#[derive(Debug)]
pub(super) struct Release<'a, 't> {
    /// The chart.
    pub(super) chart: ChartSource<'a, 't>,
    /// The values, without those of the chart itself.
    pub(super) values: Values<'t>,
    /// Values files that were taken in.
    pub(super) reads: Vec<Arc<str>>,
    /// Values that could not be followed.
    pub(super) unread: Vec<Reason>,
}

impl<'t> Release<'_, 't> {
    /// Returns what the release installs, each part on top of `blank`.
    pub(super) fn installs(mut self, blank: &Install) -> Vec<Install> {
        let charts = match &self.chart {
            ChartSource::Istio(chart, version) => vec![(*chart, None, version.clone())],
            ChartSource::Folder(around, file) => {
                let file = *file;
                self.add_own_values(around, &file);
                charts_in(&file)
            }
        };
        let read = charts.into_iter().map(|(chart, key, version)| {
            let values = key.map(|key: String| self.values.under(&key));
            self.install(
                blank,
                chart,
                values.as_ref().unwrap_or(&self.values),
                version,
            )
        });
        read.collect()
    }

    /// `values.yaml` beside `Chart.yaml` is the weakest layer.
    fn add_own_values(&mut self, around: &Surroundings<'_, 't>, chart: &PlainFile<'t>) {
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

/// Returns the charts of Istio in a `Chart.yaml`: itself, or what it depends on, with the key of
/// their values.
pub(super) fn charts_in(
    file: &PlainFile<'_>,
) -> Vec<(Chart, Option<String>, Option<Fact<Version>>)> {
    if let Some((chart, version)) = vendored(file) {
        return vec![(chart, None, version)];
    }
    let all = dependencies(file).into_iter();
    all.map(|one| (one.chart, Some(one.key), one.version))
        .collect()
}

/// Returns the layers of a values file. In a copy of Istio's charts the defaults stand under a
/// key of their own, below all that is set (`templates/zzz_profile.yaml`).
pub(super) fn layers_of<'t>(file: &PlainFile<'t>) -> Vec<Layer<'t>> {
    let inner = ["defaults", "_internal_defaults_do_not_set"]
        .into_iter()
        .find_map(|key| file.root.get(key));
    let layers = std::iter::once(file.root).chain(inner);
    layers.map(|node| Layer::file(node, file.path)).collect()
}

/// Reads the values of one chart.
pub(super) fn read_chart(
    install: &mut Install,
    chart: Chart,
    values: &Values<'_>,
    version: Option<Fact<Version>>,
) {
    let place = install.place.clone();
    let there = |said: &str| {
        let mut label = place.clone();
        label.message = said.to_owned();
        Fact::known(true, label)
    };
    match chart {
        Chart::Istiod => {
            install.part = Part::ControlPlane;
            istiod::read_into(install, values);
            // The image decides over the chart.
            install.version = install.version.take().or(version);
        }
        Chart::Base | Chart::Cni | Chart::Ztunnel => {
            install.part = Part::Cluster;
            let same = "all of Istio's charts are of one release";
            install.version = version.map(|version| {
                version.resting_on(&Fact::assumed((), same, Some("--mesh-version")))
            });
            if chart == Chart::Cni {
                istiod::read_cni_into(install, values);
                let said = "istiod leaves the redirect to the CNI plugin (`pilot.cni.enabled`)";
                let fact = there("the CNI plugin is installed here");
                install.cni = Some(fact.resting_on(&Fact::assumed(
                    (),
                    said,
                    Some("--override cni=true|false"),
                )));
            } else if chart == Chart::Ztunnel {
                install.ambient = Some(there("the node proxy of ambient mode"));
            }
        }
    }
}
