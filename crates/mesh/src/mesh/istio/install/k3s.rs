//! k3s and RKE2: `HelmChart`, and the `HelmChartConfig` of the same name.
//!
//! Source: k3s-io/helm-controller, `pkg/apis/helm.cattle.io/v1/types.go`: `set` takes precedence over `values`, and that over
//! `valuesContent`; a `HelmChartConfig` overrides its chart.

use meshprobe_yaml::NodeRef;

use super::carrier::{Carrier, Part};
use super::carrier_context::CarrierContext;
use super::chart::{Chart, version_fact};
use super::found::{Found, Typing};
use super::installation::Install;
use super::layer::{Embedded, Layer};
use super::release::{ChartSource, Release};
use super::values::Values;
use crate::kube::Object;
use crate::mesh::Reason;

/// Reads a `HelmChart` of one of Istio's charts.
pub(super) fn read(object: &Object<'_>, around: &CarrierContext<'_, '_>) -> Vec<Install> {
    let Some(spec) = object.node.get("spec") else {
        return Vec::new();
    };
    let text = |key: &str| spec.get(key).and_then(NodeRef::text);
    let hints = [text("repo"), Some(object.name()), text("targetNamespace")];
    let name = text("chart").filter(|_| text("chartContent").is_none());
    let chart = name.and_then(|name| Chart::named_with_hints(name, hints.into_iter()));
    let Some(chart) = chart else {
        return Vec::new();
    };
    let version = spec.get("version");
    let version = version.and_then(|node| version_fact(&Found::of(node, object.path())));
    let mut unread = Vec::new();
    let config = around.object(
        "HelmChartConfig",
        object.name(),
        object.namespace(),
        object.path(),
    );
    let parts: Vec<(&Object<'_>, NodeRef<'_>)> = config
        .filter(|config| config.group() == object.group())
        .and_then(|config| Some((config, config.node.get("spec")?)))
        .into_iter()
        .chain([(object, spec)])
        .collect();
    let texts: Vec<Option<Embedded>> = parts
        .iter()
        .map(|(part, spec)| values_content(part, *spec, &mut unread))
        .collect();
    let set = spec.get("set").into_iter().flat_map(NodeRef::entries);
    let mut layers: Vec<Layer<'_>> = set
        .filter_map(|entry| {
            let layer = Layer::file(entry.value, object.path());
            Some(layer.set(entry.key.text()?, Typing::Set))
        })
        .collect();
    for ((part, spec), text) in parts.iter().zip(&texts) {
        let values = spec.get("values").filter(|values| values.is_mapping());
        layers.extend(values.map(|node| Layer::file(node, part.path())));
        layers.extend(text.as_ref().and_then(Layer::embedded));
    }
    let release = Release {
        chart: ChartSource::Istio(chart, version),
        values: Values {
            layers,
            ..Values::default()
        },
        reads: Vec::new(),
        unread,
    };
    release.installs(&Install::of(object, Carrier::HelmChart, Part::ControlPlane))
}

/// Parses `valuesContent`, and records what cannot be read.
fn values_content(
    object: &Object<'_>,
    spec: NodeRef<'_>,
    unread: &mut Vec<Reason>,
) -> Option<Embedded> {
    if let Some(secrets) = spec.entry("valuesSecrets") {
        let message = "values come from Secrets, which are not read";
        unread.push(Reason::written(
            object.label_at(secrets.key.span(), message),
        ));
    }
    Embedded::of(object, spec.entry("valuesContent")?, unread)
}
