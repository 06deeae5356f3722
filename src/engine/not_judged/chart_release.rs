//! A release of a chart, and the values files of the tree.

use meshprobe_mesh::kube::nearness;
use meshprobe_predict::context::Context;
use meshprobe_tree::source::{paths, shell_word};
use meshprobe_yaml::{NodeRef, Span, from_node};

/// How to judge what the tree does not contain, or not with all of its values.
pub(super) const RENDER: &str =
    "render it as it is deployed, and pipe the rendering into `meshprobe check --context . -`";

/// A chart with the values that something deploys it with.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) struct HelmInput {
    /// The name of the release.
    pub(in crate::engine) name: String,
    /// The folder of a chart in the tree, or the name of a remote chart.
    pub(in crate::engine) chart: String,
    /// The repository of a remote chart.
    pub(in crate::engine) repository: Option<String>,
    /// The namespace of the release.
    pub(in crate::engine) namespace: Option<String>,
    /// Values files of the tree.
    pub(in crate::engine) values: Vec<String>,
    /// Values as YAML, which take precedence over the files; later ones take precedence.
    pub(in crate::engine) texts: Vec<String>,
    /// Single values.
    pub(in crate::engine) set: Vec<(String, String)>,
    /// Single values that are strings, also if they look like numbers.
    pub(in crate::engine) set_strings: Vec<(String, String)>,
    /// Whether the chart is in the tree.
    pub(in crate::engine) is_local: bool,
}

/// A release that an object deploys, and what is not known about it.
#[derive(Debug, Default)]
pub(in crate::engine) struct ChartRelease {
    pub(in crate::engine) input: HelmInput,
    /// Why the chart or its values are not known.
    pub(super) unknown: Vec<String>,
    /// The bytes that name the chart, in the text of the object.
    pub(in crate::engine) chart_span: Option<Span>,
    /// Why the chart is missing, if it is a folder that is not in the tree.
    pub(super) missing_chart: Option<String>,
}

impl ChartRelease {
    /// Returns whether the chart and all values are in the tree, so that helm renders what is deployed.
    pub(in crate::engine) fn is_complete(&self) -> bool {
        self.input.is_local && self.unknown.is_empty()
    }

    /// Returns which values of a local chart are not known, as the end of a message; empty if all are.
    pub(super) fn missing(&self) -> String {
        let parts = self.unknown.iter().filter(|_| self.input.is_local);
        parts.map(|part| format!("; {part}")).collect()
    }

    /// Returns how to judge the chart. `path` is the file that deploys it, or its folder.
    pub(super) fn help(&self, path: &str) -> String {
        match self.is_complete() {
            true => format!("`meshprobe check --helm auto {}`", shell_word(path)),
            false => RENDER.to_owned(),
        }
    }

    /// Adds values that are written as a mapping.
    pub(super) fn add_values(&mut self, values: NodeRef<'_>) {
        match from_node::<serde_json::Value>(values) {
            Ok(values) => self.input.texts.push(values.to_string()),
            Err(error) => self
                .unknown
                .push(format!("the values cannot be read: {}", error.message)),
        }
    }
}

/// Returns the displayed path of a file that is named relative to a chart of the tree.
pub(super) fn file_of_chart(
    context: &Context<'_>,
    chart: &str,
    path: &str,
    near: &str,
) -> Option<String> {
    let folder = if chart == "." { "" } else { chart };
    let exact = context.sources.joined(folder, path);
    match context.sources.file(&exact) {
        Some(file) => Some(file.path.to_string()),
        None => local_file(context, &format!("{chart}/{path}"), near),
    }
}

/// Returns the displayed path of a file of the tree, given its path in a repository.
pub(super) fn local_file(context: &Context<'_>, path: &str, near: &str) -> Option<String> {
    let wanted = paths::normal(path);
    let files = context.sources.files.iter();
    files
        .filter(|file| paths::ends_with(&file.path, &wanted))
        .max_by_key(|file| nearness(&file.path, near))
        .map(|file| file.path.to_string())
}

/// Returns the text of a field.
pub(super) fn text<'t>(node: NodeRef<'t>, key: &str) -> Option<&'t str> {
    node.get(key).and_then(NodeRef::text)
}
