//! The charts that a kustomization lists: `helmCharts`, the older `helmChartInflationGenerator`, and a generator of its own.
//!
//! Source: kustomize 5.8.2, `api/internal/builtins/HelmChartInflationGenerator.go` and `api/types/helmchartargs.go`.

use meshprobe_mesh::kube::delivery::ValuesEntry;
use meshprobe_mesh::mesh::istio::install::{GENERATOR, installs_mesh};
use meshprobe_yaml::NodeRef;

/// The fields of a kustomization that list charts.
pub const FIELDS: [&str; 2] = ["helmCharts", "helmChartInflationGenerator"];

/// The default folder of charts.
const CHART_HOME: &str = "charts";

/// A chart of a kustomization.
#[derive(Clone, Copy, Debug)]
pub struct ChartEntry<'t> {
    pub(crate) node: NodeRef<'t>,
    /// Whether it is in the older form.
    pub(crate) is_old: bool,
}

/// Returns the charts that a kustomization lists, or the chart of a file under `generators`, which has the fields of an
/// entry.
#[must_use]
pub fn chart_entries<'t>(root: NodeRef<'t>) -> Vec<ChartEntry<'t>> {
    if root.get("kind").and_then(NodeRef::text) == Some(GENERATOR) {
        return vec![ChartEntry {
            node: root,
            is_old: false,
        }];
    }
    let entries = FIELDS.into_iter().flat_map(|field| {
        let items = root.get(field).into_iter().flat_map(NodeRef::items);
        let is_old = field != "helmCharts";
        items.map(move |node| ChartEntry { node, is_old })
    });
    entries.collect()
}

impl<'t> ChartEntry<'t> {
    /// Returns a field, given its names in both forms.
    fn get(&self, key: &str, old: &str) -> Option<NodeRef<'t>> {
        self.node.get(if self.is_old { old } else { key })
    }

    fn text(&self, key: &str, old: &str) -> Option<&'t str> {
        self.get(key, old)?.text().filter(|text| !text.is_empty())
    }

    pub(crate) fn name_node(&self) -> Option<NodeRef<'t>> {
        self.get("name", "chartName")
    }

    pub(crate) fn version(&self) -> Option<NodeRef<'t>> {
        self.get("version", "chartVersion")
    }

    pub(crate) fn release_name(&self) -> Option<&'t str> {
        self.text("releaseName", "releaseName")
    }

    /// Returns the texts that show whose chart it is.
    pub(crate) fn hints(&self) -> impl Iterator<Item = &'t str> {
        let hints = [
            self.text("repo", "chartRepoUrl"),
            self.release_name(),
            self.text("namespace", "releaseNamespace"),
        ];
        hints.into_iter().flatten()
    }

    /// Returns whether it is a chart of Istio that installs a part of the mesh.
    pub(crate) fn installs_mesh(&self) -> bool {
        let name = self.text("name", "chartName");
        name.is_some_and(|name| installs_mesh(name, self.hints().map(Some)))
    }

    /// Returns the paths at which the kustomization `root` may contain the chart. With a repository, the folder has the version in
    /// its name.
    pub(crate) fn local_charts(&self, root: NodeRef<'_>) -> Vec<String> {
        let Some(name) = self.text("name", "chartName") else {
            return Vec::new();
        };
        let globals = root.get("helmGlobals");
        let home = match self.is_old {
            true => self.node.get("chartHome"),
            false => globals.and_then(|globals| globals.get("chartHome")),
        };
        let home = home.and_then(NodeRef::text).unwrap_or(CHART_HOME);
        let versioned = self.version().and_then(NodeRef::text);
        let versioned =
            versioned.map(|version| format!("{home}/{name}-{version}/{name}/Chart.yaml"));
        let plain = format!("{home}/{name}/Chart.yaml");
        versioned.into_iter().chain([plain]).collect()
    }

    /// Returns the values; later ones take precedence.
    pub(crate) fn values(&self) -> Vec<ValuesEntry<'t>> {
        let is_file = |node: &NodeRef<'_>| node.text().is_some_and(|text| !text.is_empty());
        let file = |node| ValuesEntry::File(node, false);
        let additional = self.node.get("additionalValuesFiles");
        let additional = additional
            .into_iter()
            .flat_map(NodeRef::items)
            .filter(is_file);
        let inline = self.get("valuesInline", "valuesLocal");
        let inline = inline.filter(|values| values.entries().len() > 0);
        let inline = inline.map(ValuesEntry::Mapping);
        let own = self.get("valuesFile", "values").filter(is_file).map(file);
        let both = match self.text("valuesMerge", "valuesMerge") {
            Some("replace") if inline.is_some() => [inline, None],
            Some("merge") => [inline, own],
            _ => [own, inline],
        };
        both.into_iter()
            .flatten()
            .chain(additional.map(file))
            .collect()
    }
}
