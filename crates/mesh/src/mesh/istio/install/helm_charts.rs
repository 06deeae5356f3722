//! kustomize: `helmCharts`, and the older `helmChartInflationGenerator`.
//!
//! Source: kustomize 5.8.2, `api/internal/builtins/HelmChartInflationGenerator.go` and `api/types/helmchartargs.go`.

use std::sync::Arc;

use meshprobe_yaml::NodeRef;

use super::carrier::{Carrier, Part};
use super::carrier_context::{CarrierContext, PlainFile};
use super::chart::{Chart, version_fact};
use super::found::Found;
use super::installation::Install;
use super::layer::Layer;
use super::release::{ChartSource, Release, layers_of};
use super::values::Values;
use crate::finding::Label;
use crate::kube::Object;
use crate::mesh::Reason;

/// The fields of a kustomization that list charts.
pub const FIELDS: [&str; 2] = ["helmCharts", "helmChartInflationGenerator"];

/// The kind of the plugin that renders a chart, with the apiVersion `builtin`.
pub(super) const GENERATOR: &str = "HelmChartInflationGenerator";

/// The default folder of charts.
const CHART_HOME: &str = "charts";

/// A chart of a kustomization.
struct Entry<'t> {
    node: NodeRef<'t>,
    /// Whether it is in the older form.
    is_old: bool,
}

impl<'t> Entry<'t> {
    /// Returns a field, given its names in both forms.
    fn get(&self, key: &str, old: &str) -> Option<NodeRef<'t>> {
        self.node.get(if self.is_old { old } else { key })
    }

    fn text(&self, key: &str, old: &str) -> Option<&'t str> {
        self.get(key, old)?.text().filter(|text| !text.is_empty())
    }

    fn chart(&self) -> Option<Chart> {
        let hints = [
            self.text("repo", "chartRepoUrl"),
            self.text("releaseName", "releaseName"),
            self.text("namespace", "releaseNamespace"),
        ];
        Chart::named_with_hints(self.text("name", "chartName")?, hints.into_iter())
    }
}

/// Returns whether an entry of one of the [`FIELDS`] is a chart of Istio that installs a part of the mesh.
#[must_use]
pub fn is_mesh_chart(node: NodeRef<'_>, is_old: bool) -> bool {
    let chart = Entry { node, is_old }.chart();
    chart.is_some_and(Chart::is_of_istio)
}

/// Reads the charts of Istio and of network plugins that a kustomization lists.
#[must_use]
pub fn from_kustomization(file: &PlainFile<'_>, around: &CarrierContext<'_, '_>) -> Vec<Install> {
    let entries = FIELDS.into_iter().flat_map(|field| {
        let items = file.root.get(field).into_iter().flat_map(NodeRef::items);
        items.map(move |node| Entry {
            node,
            is_old: field != "helmCharts",
        })
    });
    entries
        .flat_map(|entry| read(file, &entry, around))
        .collect()
}

/// Reads a chart of Istio or of a network plugin in a file under `generators`, which has the fields of an entry.
pub(super) fn from_generator<'t>(
    object: &Object<'t>,
    around: &CarrierContext<'_, 't>,
) -> Vec<Install> {
    let file = PlainFile {
        path: object.path(),
        real_path: None,
        root: object.node,
    };
    let entry = Entry {
        node: object.node,
        is_old: false,
    };
    read(&file, &entry, around)
}

fn read<'t>(
    file: &PlainFile<'t>,
    entry: &Entry<'t>,
    around: &CarrierContext<'_, 't>,
) -> Vec<Install> {
    let Some(name) = entry.get("name", "chartName") else {
        return Vec::new();
    };
    let Some(chart) = chart(file, entry, around) else {
        return Vec::new();
    };
    let mut release = Release {
        chart,
        values: Values::default(),
        reads: Vec::new(),
        unread: Vec::new(),
    };
    let additional = entry.node.get("additionalValuesFiles").into_iter();
    let mut additional: Vec<NodeRef<'_>> = additional.flat_map(NodeRef::items).collect();
    additional.reverse();
    for path in additional {
        add_file(file, path, around, &mut release);
    }
    let inline = entry.get("valuesInline", "valuesLocal");
    let inline = inline.filter(|values| values.entries().len() > 0);
    let inline = || inline.map(|node| Layer::file(node, file.path));
    let own = entry.get("valuesFile", "values");
    match entry.text("valuesMerge", "valuesMerge") {
        Some("replace") if inline().is_some() => {
            release.values.layers.extend(inline());
            // The file belongs to the chart, but states nothing.
            let layers = release.values.layers.len();
            own.into_iter()
                .for_each(|path| add_file(file, path, around, &mut release));
            release.values.layers.truncate(layers);
        }
        Some("merge") => {
            own.into_iter()
                .for_each(|path| add_file(file, path, around, &mut release));
            release.values.layers.extend(inline());
        }
        _ => {
            release.values.layers.extend(inline());
            own.into_iter()
                .for_each(|path| add_file(file, path, around, &mut release));
        }
    }
    let place = Label {
        path: Arc::clone(file.path),
        span: name.span(),
        message: "this chart installs a part of the mesh".to_owned(),
    };
    let blank = Install::new(
        Carrier::Kustomization,
        Part::ControlPlane,
        entry
            .text("releaseName", "releaseName")
            .or(name.text())
            .unwrap_or_default()
            .to_owned(),
        place,
    );
    release.installs(&blank)
}

/// Adds a values file as the next weaker layer.
fn add_file<'t>(
    kustomization: &PlainFile<'t>,
    path: NodeRef<'t>,
    around: &CarrierContext<'_, 't>,
    release: &mut Release<'_, 't>,
) {
    let Some(text) = path.text().filter(|text| !text.is_empty()) else {
        return;
    };
    match around.file_at(folder(kustomization), text) {
        Some(values) => {
            release.values.layers.extend(layers_of(&values));
            release.reads.push(Arc::clone(values.path));
        }
        None => {
            let message = format!("values come from `{text}`, which is not in the tree");
            let found = Found::of(path, kustomization.path);
            release.unread.push(Reason::written(found.label(message)));
        }
    }
}

/// Returns the chart of an entry. A chart in the folder of charts is not downloaded.
fn chart<'a, 't>(
    file: &PlainFile<'_>,
    entry: &Entry<'_>,
    around: &'a CarrierContext<'a, 't>,
) -> Option<ChartSource<'a, 't>> {
    let name = entry.text("name", "chartName")?;
    let version = entry.get("version", "chartVersion");
    let globals = file.root.get("helmGlobals");
    let home = match entry.is_old {
        true => entry.node.get("chartHome"),
        false => globals.and_then(|globals| globals.get("chartHome")),
    };
    let home = home.and_then(NodeRef::text).unwrap_or(CHART_HOME);
    // With a repository, the folder has the version in its name.
    let versioned = version.and_then(NodeRef::text);
    let versioned = versioned.map(|version| format!("{home}/{name}-{version}/{name}/Chart.yaml"));
    let plain = format!("{home}/{name}/Chart.yaml");
    let mut local = versioned.into_iter().chain([plain]);
    if let Some(chart) = local.find_map(|path| around.file_at(folder(file), &path)) {
        return Some(ChartSource::Folder(around, chart));
    }
    let version = version.and_then(|node| version_fact(&Found::of(node, file.path)));
    Some(ChartSource::Istio(entry.chart()?, version))
}

/// Returns the folder of a file, empty for the working directory.
fn folder<'t>(file: &PlainFile<'t>) -> &'t str {
    file.path.rsplit_once('/').map_or("", |(folder, _)| folder)
}
