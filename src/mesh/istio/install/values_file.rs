//! Values files that no other object refers to.

use std::sync::Arc;

use crate::finding::Label;
use crate::yaml::NodeRef;

use super::carrier::{Carrier, Part};
use super::carrier_context::PlainFile;
use super::chart::Chart;
use super::installation::Install;
use super::release::{charts_in, layers_of, read_chart};
use super::values::Values;

/// Reads a file of Helm values.
///
/// `chart` is the `Chart.yaml` of the same folder, if there is one. If it depends on Istio's charts, their values are
/// under the name or the alias; if it is a copy of one of them, they are at the top level. Without a chart, the file
/// is included if at least two keys at the top level are those of istiod.
/// Returns one installation per chart of Istio whose values the file contains.
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
    charts
        .into_iter()
        .filter_map(|(chart, key, version)| {
            let node = match &key {
                Some(key) => file.root.get(key),
                None => Some(file.root),
            };
            // One of several values files may have no values for a chart.
            let mut install = blank(file, node?);
            let own = key.map(|key| values.under(&key));
            read_chart(
                &mut install,
                chart,
                own.as_ref().unwrap_or(&values),
                version,
            );
            Some(install)
        })
        .collect()
}

fn blank(file: &PlainFile<'_>, node: NodeRef<'_>) -> Install {
    // A label points to the first key, because the whole file would be too long.
    let first = node.entries().next().map_or(node, |entry| entry.key);
    let place = Label {
        path: Arc::clone(file.path),
        span: first.span(),
        message: "these values describe the installation".to_owned(),
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
