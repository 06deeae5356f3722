//! `HelmChart`s of k3s and RKE2.
//!
//! Source: k3s-io/helm-controller, `pkg/apis/helm.cattle.io/v1/types.go`.

use crate::kube::Object;
use crate::yaml::NodeRef;

use super::chart_path::MissingChart;
use super::chart_release::{ChartRelease, text};
use super::helm_command::HelmCommand;

/// Returns what a `HelmChart` releases; `None` if it has no `spec`.
pub(super) fn release(object: &Object<'_>) -> Option<ChartRelease> {
    let spec = object.node.get("spec")?;
    let chart = text(spec, "chart");
    let target = text(spec, "targetNamespace").or_else(|| object.deployed_namespace());
    let inline = text(spec, "valuesContent").map(|_| {
        let expression = format!(
            "select(.kind == \"HelmChart\" and .metadata.name == \"{}\") | .spec.valuesContent",
            object.name()
        );
        (object.path().to_string(), expression)
    });
    let set = spec.get("set").into_iter().flat_map(NodeRef::entries);
    let set = set.filter_map(|entry| Some((entry.key.text()?, entry.value.text()?)));
    let mut release = ChartRelease {
        command: HelmCommand {
            name: object.name().to_owned(),
            chart: chart.unwrap_or("CHART").to_owned(),
            repository: text(spec, "repo").map(str::to_owned),
            version: text(spec, "version").map(str::to_owned),
            namespace: target.map(str::to_owned),
            inline,
            set: set
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
            ..HelmCommand::default()
        },
        chart_span: spec.get("chart").map(NodeRef::span),
        ..ChartRelease::default()
    };
    if chart.is_none() {
        release.missing_chart = Some(MissingChart {
            why: "its chart is a compressed archive in `spec.chartContent`".to_owned(),
            help: "extract the archive, and render the chart: `meshprobe check --helm FOLDER`"
                .to_owned(),
        });
    }
    Some(release)
}
