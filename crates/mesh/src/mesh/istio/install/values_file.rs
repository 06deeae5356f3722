//! Values files that no other object refers to.

use std::sync::Arc;

use meshprobe_yaml::NodeRef;

use super::chart::{Chart, PlainFile};
use super::installation::Install;
use super::installation::{Carrier, Part};
use super::release::{charts_in, layers_of, read_chart};
use super::values::Values;
use crate::finding::Label;

/// Reads a file of Helm values.
///
/// `chart` is the `Chart.yaml` of the same folder, if there is one. If it depends on Istio's charts, their values are
/// under the name or the alias; if it is a copy of one of them, they are at the top level. Without a chart, the keys
/// of the file show whether they are values of istiod, also below the key of a subchart. If `is_deployed`, something else
/// of the tree installs istiod, and the webhook alone is not enough: the file may be an example.
/// Returns one installation per chart of Istio whose values the file contains.
#[must_use]
pub fn from_values_file(
    file: &PlainFile<'_>,
    chart: Option<&PlainFile<'_>>,
    is_deployed: bool,
) -> Vec<Install> {
    if file.is_chart() || !file.root.is_mapping() {
        return Vec::new();
    }
    let values = Values {
        layers: layers_of(file.root, file.path),
    };
    let charts = chart.map(charts_in).unwrap_or_default();
    if charts.is_empty() {
        let keys = values_of_istiod(file.root, is_deployed);
        return keys
            .map(|keys| {
                let values = keys.iter().fold(values, |values, key| values.under(key));
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

/// Returns the values of istiod in a file: the whole file, or the values of a subchart.
fn values_of_istiod(root: NodeRef<'_>, is_deployed: bool) -> Option<Vec<String>> {
    if looks_like_istiod(root, is_deployed) {
        return Some(Vec::new());
    }
    let below = |node: NodeRef<'_>| {
        let mut entries = node.entries();
        entries.find_map(|entry| {
            let key = entry.key.text()?.to_owned();
            looks_like_istiod(entry.value, is_deployed).then_some(key)
        })
    };
    if let Some(key) = below(root) {
        return Some(vec![key]);
    }
    root.entries()
        .find_map(|entry| Some(vec![entry.key.text()?.to_owned(), below(entry.value)?]))
}

/// Returns whether a mapping contains values of istiod: those of its webhook, or two other keys.
fn looks_like_istiod(root: NodeRef<'_>, is_deployed: bool) -> bool {
    let root = ["defaults", "_internal_defaults_do_not_set"]
        .into_iter()
        .find_map(|key| root.get(key))
        .unwrap_or(root);
    let is_set = |key: &str| root.get(key).is_some_and(NodeRef::is_mapping);
    let keys = ["pilot", "meshConfig", "revisionTags"];
    let found = keys.iter().filter(|key| root.get(key).is_some()).count();
    let namespace = root
        .get("global")
        .and_then(|global| global.get("istioNamespace"));
    let has_webhook = is_set("sidecarInjectorWebhook");
    let others = found + usize::from(namespace.is_some());
    has_webhook && !is_deployed || others + usize::from(has_webhook) >= 2
}
