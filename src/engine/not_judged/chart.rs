//! Charts in the repository, and templates outside of charts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meshprobe_mesh::finding::Label;
use meshprobe_predict::context::{Context, Detail, NotJudged, NotJudgedReason};
use meshprobe_tree::source::{Content, HELM_NOT_FOUND, Role, SourceFile, chart_folder, shell_word};
use meshprobe_yaml::Span;

use super::chart_deployments::ChartDeployments;
use super::chart_tree::ChartTree;

/// Returns the charts and other templates among the files of a run that are not rendered. A chart that another chart
/// contains is rendered with it. `released` are the charts that are not judged as part of a release.
pub(super) fn charts(context: &Context<'_>, released: &BTreeSet<String>) -> Vec<NotJudged> {
    let set = context.sources;
    let templates = set.targets().filter(|file| is_template(file));
    let outside = templates.filter(|file| chart_of(file).is_none());
    let mut charts = chart_folders(context);
    charts.retain(|folder, _| !set.has_rendered_chart(folder) && !released.contains(*folder));
    let deployments = ChartDeployments::new(context);
    let charts = charts.into_iter();
    outside
        .map(template)
        .chain(charts.map(|(folder, file)| chart(context, &deployments, folder, file)))
        .collect()
}

/// Returns the folders of the charts among the files of a run, each with one of its files. Omits libraries. For a chart
/// that another chart contains, returns the outermost one.
pub(in crate::engine) fn chart_folders<'t>(
    context: &Context<'t>,
) -> BTreeMap<&'t str, &'t SourceFile> {
    let tree = ChartTree::new(context);
    let templates = context.sources.targets().filter(|file| is_template(file));
    let templates = templates.filter_map(|file| Some((chart_of(file)?, file)));
    let definitions = tree.definitions();
    let definitions = definitions.filter(|(_, file)| file.role == Role::Target);
    let mut charts: BTreeMap<&str, &SourceFile> = BTreeMap::new();
    for (folder, file) in templates.chain(definitions) {
        charts.entry(tree.outermost(folder)).or_insert(file);
    }
    charts.retain(|folder, _| !tree.is_library(folder));
    charts
}

/// Returns the folder of the chart of a template.
fn chart_of(file: &SourceFile) -> Option<&str> {
    chart_folder(&file.path).filter(|_| file.chart_template)
}

fn is_template(file: &SourceFile) -> bool {
    let mut documents = file.documents.iter();
    documents.any(|document| matches!(document.content, Content::Template))
}

fn chart(
    context: &Context<'_>,
    deployments: &ChartDeployments<'_, '_>,
    folder: &str,
    file: &SourceFile,
) -> NotJudged {
    let set = context.sources;
    let definition = match folder {
        "." => "Chart.yaml".to_owned(),
        _ => format!("{folder}/Chart.yaml"),
    };
    let path = set
        .file(&definition)
        .map_or_else(|| Arc::clone(&file.path), |file| Arc::clone(&file.path));
    let (message, help) = if set.lacks_helm(folder) {
        (
            format!("the chart in `{folder}` is not rendered: {HELM_NOT_FOUND}"),
            "install helm, or add its folder to the PATH".to_owned(),
        )
    } else if set.has_failed_chart(folder) {
        (
            format!("helm cannot render the chart in `{folder}`"),
            "fix the error reported as `not-rendered`, or pass the values that the chart requires"
                .to_owned(),
        )
    } else if let Some(deployed) = deployments.of(folder) {
        (deployed.message, deployed.help)
    } else {
        (
            format!("the chart in `{folder}` is not rendered"),
            format!("`meshprobe check --helm auto {}`", shell_word(folder)),
        )
    };
    NotJudged {
        reason: NotJudgedReason::Chart,
        detail: Detail::None,
        place: Label {
            path,
            span: Span::empty(0),
            message,
        },
        object: None,
        help,
    }
}

fn template(file: &SourceFile) -> NotJudged {
    let message = format!("`{}` is a template that is not rendered", file.path);
    // A summary names the templates of a folder once.
    let help = "check the rendered manifests: `meshprobe check --context . -`";
    NotJudged::of_file(NotJudgedReason::Template, file, message, help)
}
