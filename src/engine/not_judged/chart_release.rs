//! A release of a chart, and the charts and values files of the tree.

use crate::context::Context;
use crate::kube::nearness;
use crate::source::paths;
use crate::yaml::{NodeRef, from_node};

use super::helm_command::HelmCommand;

/// A release that an object deploys, and what is not known about it.
#[derive(Debug, Default)]
pub(in crate::engine) struct ChartRelease {
    pub(in crate::engine) command: HelmCommand,
    /// What the command for the user leaves out.
    pub(super) left_out: Vec<String>,
    /// Why the chart or its values are not known.
    pub(super) unknown: Vec<String>,
}

impl ChartRelease {
    /// Returns whether the chart and all values are in the tree, so that helm renders what is deployed.
    pub(in crate::engine) fn is_complete(&self) -> bool {
        self.command.is_local && self.unknown.is_empty()
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

/// Returns the folder of a chart in the tree. `path` is relative to the root of a repository, which may not be the
/// working directory, so the end of the path decides, then nearness.
pub(super) fn local_chart<'t>(context: &Context<'t>, path: &str, near: &str) -> Option<&'t str> {
    let wanted = paths::normal(path);
    let charts = context.inventory.plain_files.iter();
    charts
        .filter(|file| file.is_chart())
        .filter(|file| {
            let place = file.real_path.unwrap_or(file.path);
            paths::ends_with(paths::folder(place).trim_end_matches('/'), &wanted)
        })
        .max_by_key(|file| nearness(file.path, near))
        .map(
            |file| match paths::folder(file.path).trim_end_matches('/') {
                "" => ".",
                folder => folder,
            },
        )
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
