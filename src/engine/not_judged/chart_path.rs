//! Finds the folder of the chart that a release names.

use meshprobe_deploy::gitops::named_source::SourceName;
use meshprobe_deploy::gitops::repositories::SourcePlace;
use meshprobe_mesh::kube::{Object, nearness};
use meshprobe_mesh::mesh::istio::install::PlainFile;
use meshprobe_predict::context::{Context, tree_noun};
use meshprobe_tree::source::{paths, placeholder};

/// Returns the folder of the chart that `object` deploys from a source.
///
/// # Errors
/// No folder of the run contains the chart; the error says why.
pub(super) fn chart_folder<'t>(
    context: &Context<'t>,
    object: &Object<'t>,
    source: &SourceName<'t>,
    path: &str,
) -> Result<&'t str, String> {
    let place = context
        .inventory
        .repositories
        .place(context.sources, object, source, false);
    let root = match &place {
        SourcePlace::Elsewhere { title, .. } => {
            return Err(format!(
                "the chart `{path}` is in {title}, which is another repository"
            ));
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

fn missing(context: &Context<'_>, object: &Object<'_>, path: &str) -> String {
    if placeholder::contains(path) {
        return format!("another tool fills in the path of the chart, `{path}`");
    }
    let tree = tree_noun(context.sources, object.path());
    format!("`{path}` is not a folder of {tree} with a chart")
}
