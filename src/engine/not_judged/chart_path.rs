//! Finds the folder of the chart that a release names.

use crate::context::{Context, tree_noun};
use crate::gitops::named_source::SourceName;
use crate::gitops::repositories::SourcePlace;
use crate::kube::{Object, nearness};
use crate::mesh::istio::install::PlainFile;
use crate::source::{paths, placeholder};

/// What to do about a chart in another repository.
const RENDER_THERE: &str = "render the chart in its repository: `meshprobe check --helm FOLDER`";

/// A chart that is a folder, and that is not in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MissingChart {
    /// Why it is missing.
    pub(super) why: String,
    /// What to do.
    pub(super) help: String,
}

impl MissingChart {
    /// The chart of an object that names none.
    pub(super) fn unnamed() -> Self {
        Self {
            why: "it names no chart".to_owned(),
            help: "set `spec.chart` or `spec.chartRef`, or check the output of what adds it"
                .to_owned(),
        }
    }
}

/// Returns the folder of the chart that `object` deploys from a source.
///
/// # Errors
/// No folder of the run contains the chart.
pub(super) fn chart_folder<'t>(
    context: &Context<'t>,
    object: &Object<'t>,
    source: &SourceName<'t>,
    path: &str,
) -> Result<&'t str, MissingChart> {
    let place = context
        .inventory
        .repositories
        .place(context.sources, object, source, false);
    let root = match &place {
        SourcePlace::Elsewhere { title, url, .. } => {
            return Err(elsewhere(path, title, url.as_deref()));
        }
        SourcePlace::InRun(root) => Some(&**root),
        SourcePlace::Here => None,
    };
    let found = local_chart(context, path, object.path(), root);
    found.ok_or_else(|| missing(context, object, path))
}

/// Returns whether the run contains the folder that `object` deploys from a source.
pub(super) fn has_folder<'t>(
    context: &Context<'t>,
    object: &Object<'t>,
    source: &SourceName<'t>,
    path: &str,
) -> bool {
    let repositories = &context.inventory.repositories;
    repositories.contains(context.sources, object, source, path)
}

/// Returns the folder of a chart in the tree. `path` is relative to the root of a repository, which may not be the
/// working directory, so the end of the path decides, then nearness.
fn local_chart<'t>(
    context: &Context<'t>,
    path: &str,
    near: &str,
    root: Option<&str>,
) -> Option<&'t str> {
    let wanted = paths::normal(path);
    charts(context)
        .filter(|file| root.is_none_or(|root| paths::is_within(paths::folder(file.path), root)))
        .filter(|file| {
            let place = file.real_path.unwrap_or(file.path);
            paths::ends_with(paths::folder(place).trim_end_matches('/'), &wanted)
        })
        .max_by_key(|file| nearness(file.path, near))
        .map(folder_of)
}

/// Iterates over the `Chart.yaml` files of the run.
pub(super) fn charts<'c, 't>(context: &'c Context<'t>) -> impl Iterator<Item = &'c PlainFile<'t>> {
    let files = context.inventory.plain_files.iter();
    files.filter(|file| file.is_chart())
}

/// Returns the folder of a `Chart.yaml` as an argument.
pub(super) fn folder_of<'t>(file: &PlainFile<'t>) -> &'t str {
    match paths::folder(file.path).trim_end_matches('/') {
        "" => ".",
        folder => folder,
    }
}

fn elsewhere(path: &str, title: &str, url: Option<&str>) -> MissingChart {
    let help = match url.is_some_and(|url| url.starts_with("oci://")) {
        true => "download it, and render the chart: `meshprobe check --helm FOLDER`",
        false => {
            "clone it, and add the clone to the run: `meshprobe check --helm auto --context CLONE .`"
        }
    };
    MissingChart {
        why: format!("the chart `{path}` is in {title}, which is another repository"),
        help: help.to_owned(),
    }
}

fn missing(context: &Context<'_>, object: &Object<'_>, path: &str) -> MissingChart {
    if placeholder::contains(path) {
        return MissingChart {
            why: format!("another tool fills in the path of the chart, `{path}`"),
            help: "check the charts that the tool fills in".to_owned(),
        };
    }
    let wanted = paths::normal(path);
    let depth = wanted.split('/').count();
    let distance = |folder: &str| {
        let parts: Vec<&str> = folder.split('/').collect();
        let end = parts.get(parts.len().saturating_sub(depth)..);
        strsim::osa_distance(&end.unwrap_or_default().join("/"), &wanted)
    };
    let near = |folder: &str| std::cmp::Reverse(nearness(folder, object.path()));
    let closest = charts(context)
        .map(folder_of)
        .map(|folder| (distance(folder), near(folder), folder))
        .min()
        .filter(|(distance, ..)| *distance <= wanted.len() / 4 + 1);
    let tree = tree_noun(context.sources, object.path());
    MissingChart {
        why: format!("`{path}` is not a folder of {tree} with a chart"),
        help: match closest {
            Some((_, _, folder)) => {
                format!("correct the path (`{folder}` contains a chart), or {RENDER_THERE}")
            }
            None => format!("correct the path, or {RENDER_THERE}"),
        },
    }
}
