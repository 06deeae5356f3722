//! Charts in the repository, and templates outside of charts.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::finding::Label;
use meshprobe_mesh::mesh::istio::install::has_only_istio_charts;
use meshprobe_predict::context::{Context, Detail, NotJudged, NotJudgedReason};
use meshprobe_tree::source::{Content, HELM_NOT_FOUND, Role, SourceFile, chart_folder, shell_word};
use meshprobe_yaml::{NodeRef, Span};

use super::releases::{FoundRelease, chart_releases, charts, folder_of, rendered};

/// Returns the charts and other templates among the files of a run that are not rendered. A chart that another chart
/// contains is rendered with it. `released` are the charts that are not judged as part of a release.
pub(super) fn unrendered_charts(
    context: &Context<'_>,
    released: &BTreeSet<String>,
) -> Vec<NotJudged> {
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

/// The charts of a run. Folders are as shown to the user.
#[derive(Debug, Default)]
pub(in crate::engine) struct ChartTree<'t> {
    /// The charts that can be installed, and the folders that contain them on disk.
    folders: HashMap<&'t Path, &'t str>,
    places: HashMap<&'t str, &'t Path>,
    libraries: HashSet<&'t str>,
    /// The `Chart.yaml` files of charts that run pods, or depend on charts that do.
    definitions: Vec<(&'t str, &'t SourceFile)>,
}

impl<'t> ChartTree<'t> {
    /// Reads the `Chart.yaml` files of a run.
    pub(in crate::engine) fn new(context: &Context<'t>) -> Self {
        let mut tree = Self::default();
        for chart in charts(context) {
            let folder = folder_of(chart);
            let Some(file) = context.sources.file(chart.path) else {
                continue;
            };
            let place = file.resolved_location().or(file.location.as_deref());
            let place = place.and_then(Path::parent);
            if let Some(place) = place {
                tree.places.insert(folder, place);
            }
            if chart.root.get("type").and_then(NodeRef::text) == Some("library") {
                tree.libraries.insert(folder);
                continue;
            }
            if let Some(place) = place {
                tree.folders.insert(place, folder);
            }
            // Without templates of its own, a chart that installs Istio is only read for facts.
            if chart.root.is_mapping() && !has_only_istio_charts(chart) {
                tree.definitions.push((folder, file));
            }
        }
        tree
    }

    /// Iterates over the folders and the `Chart.yaml` files of charts that can be installed, except those that only
    /// install Istio.
    pub(super) fn definitions(&self) -> impl Iterator<Item = (&'t str, &'t SourceFile)> {
        self.definitions.iter().copied()
    }

    /// Returns the outermost chart that contains the chart in `folder` in its folder `charts`; `folder` if none does.
    /// helm renders a chart with all charts that it contains.
    pub(in crate::engine) fn outermost<'f>(&self, folder: &'f str) -> &'f str
    where
        't: 'f,
    {
        let place = self.places.get(folder).copied();
        place
            .into_iter()
            .flat_map(Path::ancestors)
            .filter(|inner| inner.file_name() == Some(OsStr::new("charts")))
            .filter_map(|inner| self.folders.get(inner.parent()?).copied())
            .last()
            .unwrap_or(folder)
    }

    /// Returns whether the chart in `folder` only contains definitions for other charts.
    pub(super) fn is_library(&self, folder: &str) -> bool {
        self.libraries.contains(folder)
    }
}

/// The releases of the tree, which are searched once, when the first is needed.
pub(in crate::engine) struct ChartDeployments<'c, 't> {
    context: &'c Context<'t>,
    releases: OnceCell<Vec<FoundRelease<'c, 't>>>,
}

/// A chart that is not judged with the values of the release that deploys it.
pub(in crate::engine) struct DeployedChart {
    /// What is not judged, and why.
    pub(super) message: String,
    /// What to do to judge it with the values of its release.
    pub(in crate::engine) help: String,
}

impl<'c, 't> ChartDeployments<'c, 't> {
    pub(in crate::engine) const fn new(context: &'c Context<'t>) -> Self {
        Self {
            context,
            releases: OnceCell::new(),
        }
    }

    /// Returns how the chart in `folder` is deployed; `None` if no object of the tree deploys it.
    pub(in crate::engine) fn of(&self, folder: &str) -> Option<DeployedChart> {
        let releases = self.releases.get_or_init(|| chart_releases(self.context));
        let of_chart = || {
            releases
                .iter()
                .filter(|found| found.release.input.is_local && found.release.input.chart == folder)
        };
        let complete = of_chart().find(|found| found.release.is_complete());
        let found = complete.or_else(|| of_chart().next())?;
        let title = format!("{}/{}", found.object.kind, found.object.name());
        if of_chart().any(|found| rendered(self.context, found) == Some(false)) {
            return Some(DeployedChart {
                message: format!("helm cannot render the chart in `{folder}` for {title}"),
                help: "fix the error reported as `not-rendered`".to_owned(),
            });
        }
        Some(DeployedChart {
            message: format!(
                "the chart in `{folder}`, which {title} deploys, is not rendered{}",
                found.release.missing()
            ),
            help: found.release.help(folder),
        })
    }
}
