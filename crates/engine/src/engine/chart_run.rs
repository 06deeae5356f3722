//! The charts of the tree that helm can render, with the values with which they are deployed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_deploy::gitops::render_relevant;
use meshprobe_mesh::settings::Settings;
use meshprobe_predict::context::Context;
use meshprobe_tree::source::{ChartDeployment, Role, SourceSet, chart_folder};

use super::not_judged::{ChartTree, FoundRelease, HelmInput, chart_folders, chart_releases};

/// A chart of the tree with values, and the objects that deploy it.
#[derive(Clone, Debug)]
pub struct ChartRun {
    /// Its folder, as shown to the user.
    pub folder: Arc<str>,
    /// Its folder on disk.
    pub place: PathBuf,
    /// The name of the release; `None` for a chart that nothing deploys.
    pub name: Option<String>,
    /// The namespace of the release.
    pub namespace: Option<String>,
    /// The values files, on disk.
    pub values: Vec<PathBuf>,
    /// Further values as YAML. Later ones take precedence over earlier ones and over the files.
    pub texts: Vec<String>,
    /// Single values, as `KEY=VALUE`.
    pub set: Vec<String>,
    /// Single values that are strings, as `KEY=VALUE`.
    pub set_strings: Vec<String>,
    /// The objects that deploy the chart with these values.
    pub releases: Vec<ChartDeployment>,
}

impl ChartRun {
    /// Returns the file for which a failure is reported: that of the object that deploys the chart, or its `Chart.yaml`.
    #[must_use]
    pub fn cause(&self) -> Arc<str> {
        match self.releases.first() {
            Some(release) => Arc::clone(&release.path),
            None => chart_file(&self.folder).into(),
        }
    }
}

/// Returns the charts of the tree that helm can render: those that objects of the tree deploy with known values, and
/// those among the targets that nothing deploys. Omits charts that are rendered already.
#[must_use]
pub fn chart_runs(set: &SourceSet, settings: &Settings) -> Vec<ChartRun> {
    let renderings = render_relevant(set);
    let context = Context::new(set, &renderings, settings);
    let found = chart_releases(&context);
    let tree = ChartTree::new(&context);
    let mut deployed = HashSet::new();
    let mut with_target: HashMap<&str, bool> = HashMap::new();
    let mut runs: BTreeMap<&HelmInput, ChartRun> = BTreeMap::new();
    for found in &found {
        let input = &found.release.input;
        if !input.is_local {
            continue;
        }
        deployed.insert(input.chart.as_str());
        if !found.release.is_complete() || set.has_rendered_chart(&input.chart) {
            continue;
        }
        let is_target = context.origin_of(found.object).is_target()
            || *with_target
                .entry(&input.chart)
                .or_insert_with(|| has_target(set, &tree, &input.chart));
        let deployment = deployment(found, is_target);
        let run = match runs.get_mut(input) {
            Some(run) => run,
            None => match run(set, input) {
                Some(run) => runs.entry(input).or_insert(run),
                None => continue,
            },
        };
        if !run.releases.contains(&deployment) {
            run.releases.push(deployment);
        }
    }
    let others = chart_folders(&context)
        .into_keys()
        .filter(|folder| !deployed.contains(folder) && !set.has_rendered_chart(folder));
    let others = others.filter_map(|folder| {
        let input = HelmInput {
            chart: folder.to_owned(),
            namespace: settings.namespace.clone(),
            ..HelmInput::default()
        };
        Some(ChartRun {
            name: None,
            ..run(set, &input)?
        })
    });
    let others: Vec<ChartRun> = others.collect();
    runs.into_values().chain(others).collect()
}

/// Returns whether the user gave a template of a chart, or its `Chart.yaml`.
fn has_target(set: &SourceSet, tree: &ChartTree<'_>, folder: &str) -> bool {
    let definition = chart_file(folder);
    let mut files = set.files_in(if folder == "." { "" } else { folder });
    files.any(|file| {
        let is_template = || {
            let chart = chart_folder(&file.path).filter(|_| file.chart_template);
            chart.is_some_and(|chart| chart == folder || tree.outermost(chart) == folder)
        };
        file.role == Role::Target && (*file.path == *definition || is_template())
    })
}

fn deployment(found: &FoundRelease<'_, '_>, is_target: bool) -> ChartDeployment {
    let object = found.object;
    let input = &found.release.input;
    let place = object.label_at(object.name_span(), "");
    let chart = found
        .release
        .chart_span
        .unwrap_or_else(|| object.name_span());
    let chart = object.label_at(chart, "");
    ChartDeployment {
        location_file: Arc::clone(object.location_file),
        is_of_overlay: object.overlay.is_some(),
        namespace: input.namespace.as_deref().map(Arc::from),
        cluster: object.target_cluster(),
        path: place.path,
        span: place.span,
        chart: (chart.path, chart.span),
        is_target,
    }
}

/// Returns a run without objects; `None` if the chart or a file is not on disk.
fn run(set: &SourceSet, input: &HelmInput) -> Option<ChartRun> {
    let on_disk = |path: &str| set.file(path)?.location.clone();
    let place = on_disk(&chart_file(&input.chart))?.parent()?.to_path_buf();
    let pairs = |pairs: &[(String, String)]| {
        let pairs = pairs.iter().map(|(key, value)| format!("{key}={value}"));
        pairs.collect()
    };
    Some(ChartRun {
        folder: input.chart.as_str().into(),
        place,
        name: Some(input.name.clone()),
        namespace: input.namespace.clone(),
        values: input
            .values
            .iter()
            .map(|path| on_disk(path))
            .collect::<Option<_>>()?,
        texts: input.texts.clone(),
        set: pairs(&input.set),
        set_strings: pairs(&input.set_strings),
        releases: Vec::new(),
    })
}

fn chart_file(folder: &str) -> String {
    match folder {
        "." => "Chart.yaml".to_owned(),
        _ => format!("{folder}/Chart.yaml"),
    }
}
