//! Values files that stand by themselves.

use std::sync::Arc;

use crate::finding::Label;
use crate::yaml::NodeRef;

use super::chart::Chart;
use super::release::{charts_in, layers_of, read_chart};
use super::surroundings::PlainFile;
use super::values::Values;
use super::{Carrier, Install, Part};

/// Reads a file of Helm values.
///
/// `chart` is the `Chart.yaml` of the same folder, if there is one: where it depends on Istio's
/// charts, their values stand under the name or the alias; where it is a copy of one of them, at
/// the top. Without a chart the file counts when two or more keys at the top are those of istiod.
/// Returns one installation per chart of Istio whose values are there.
#[must_use]
pub fn from_values_file(file: &PlainFile<'_>, chart: Option<&PlainFile<'_>>) -> Vec<Install> {
    if file.is_chart() || !file.root.is_mapping() {
        return Vec::new();
    }
    let values = Values {
        layers: layers_of(file),
        ..Values::default()
    };
    let charts = chart.map(charts_in).unwrap_or_default();
    if charts.is_empty() {
        return looks_like_istiod(file.root)
            .then(|| {
                let mut install = blank(file, file.root);
                read_chart(&mut install, Chart::Istiod, &values, None);
                install
            })
            .into_iter()
            .collect();
    }
    let read = charts.into_iter().filter_map(|(chart, key, version)| {
        let node = match &key {
            Some(key) => file.root.get(key),
            None => Some(file.root),
        };
        // A values file beside others need not speak of every chart.
        let mut install = blank(file, node?);
        let own = key.map(|key| values.under(&key));
        read_chart(
            &mut install,
            chart,
            own.as_ref().unwrap_or(&values),
            version,
        );
        Some(install)
    });
    read.collect()
}

fn blank(file: &PlainFile<'_>, node: NodeRef<'_>) -> Install {
    // The first key is a line to point at; the whole file is not.
    let first = node.entries().next().map_or(node, |entry| entry.key);
    let place = Label {
        path: Arc::clone(file.path),
        span: first.span(),
        message: "these values are the installation".to_owned(),
    };
    Install::new(
        Carrier::HelmValues,
        Part::ControlPlane,
        String::new(),
        place,
    )
}

fn looks_like_istiod(root: NodeRef<'_>) -> bool {
    let root = ["defaults", "_internal_defaults_do_not_set"]
        .into_iter()
        .find_map(|key| root.get(key))
        .unwrap_or(root);
    let keys = [
        "pilot",
        "meshConfig",
        "sidecarInjectorWebhook",
        "revisionTags",
    ];
    let found = keys.iter().filter(|key| root.get(key).is_some()).count();
    let namespace = root
        .get("global")
        .and_then(|global| global.get("istioNamespace"));
    found + usize::from(namespace.is_some()) >= 2
}
