//! `HelmChart`s of k3s and RKE2.
//!
//! Source: k3s-io/helm-controller, `pkg/apis/helm.cattle.io/v1/types.go`.

use meshprobe_mesh::kube::Object;
use meshprobe_yaml::NodeRef;

use super::chart_release::{ChartRelease, HelmInput, text};

/// Returns what a `HelmChart` releases, which is never a folder of the tree; `None` if it has no `spec`.
pub(super) fn release(object: &Object<'_>) -> Option<ChartRelease> {
    let spec = object.node.get("spec")?;
    let chart = text(spec, "chart");
    let archive = "its chart is a compressed archive in `spec.chartContent`";
    Some(ChartRelease {
        input: HelmInput {
            name: object.name().to_owned(),
            chart: chart.unwrap_or_default().to_owned(),
            repository: text(spec, "repo").map(str::to_owned),
            ..HelmInput::default()
        },
        chart_span: spec.get("chart").map(NodeRef::span),
        missing_chart: chart.is_none().then(|| archive.to_owned()),
        ..ChartRelease::default()
    })
}
