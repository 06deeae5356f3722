//! A release of a chart, and the values files of the tree.

use crate::context::Context;
use crate::kube::nearness;
use crate::source::paths;
use crate::yaml::{NodeRef, Span, from_node};

use super::chart_path::MissingChart;
use super::helm_command::HelmCommand;

/// A release that an object deploys, and what is not known about it.
#[derive(Debug, Default)]
pub(in crate::engine) struct ChartRelease {
    pub(in crate::engine) command: HelmCommand,
    /// What the command for the user leaves out.
    pub(super) left_out: Vec<String>,
    /// Why the chart or its values are not known.
    pub(super) unknown: Vec<String>,
    /// The bytes that name the chart, in the text of the object.
    pub(in crate::engine) chart_span: Option<Span>,
    /// Set if the chart is a folder that is not in the tree.
    pub(super) missing_chart: Option<MissingChart>,
}

impl ChartRelease {
    /// Returns whether the chart and all values are in the tree, so that helm renders what is deployed.
    pub(in crate::engine) fn is_complete(&self) -> bool {
        self.command.is_local && self.unknown.is_empty()
    }

    /// Returns what the command for the user does not know or leaves out, as the end of a message; empty for a complete
    /// release.
    pub(super) fn missing(&self) -> String {
        if self.is_complete() {
            return String::new();
        }
        let parts = self.unknown.iter().chain(&self.left_out);
        parts.map(|part| format!("; {part}")).collect()
    }

    /// Adds values that are written as a mapping.
    pub(super) fn add_values(&mut self, values: NodeRef<'_>) {
        match from_node::<serde_json::Value>(values) {
            Ok(values) => self.command.texts.push(values.to_string()),
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
