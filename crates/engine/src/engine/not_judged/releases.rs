//! Releases of charts: `HelmRelease`s of Flux, `HelmChart`s of k3s, Applications of Argo CD, and files of Fleet.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashSet;
use meshprobe_deploy::gitops::releases;
use meshprobe_mesh::finding::Label;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::kube::delivery::fleet_chart;
use meshprobe_mesh::mesh::istio::install::{
    FoundChart, PlainFile, ReleaseValues, has_only_istio_charts, is_gateway_chart,
};
use meshprobe_predict::context::{Context, Detail, NotJudged, NotJudgedReason};
use meshprobe_tree::source::{paths, shell_word};
use meshprobe_yaml::{Span, from_node};
use serde_json::Value;

/// Returns the objects that release charts and are not judged, except those that only install a mesh: they are read for
/// facts. Also returns the folders of their charts.
pub(super) fn releases(context: &Context<'_>) -> (Vec<NotJudged>, BTreeSet<String>) {
    let mut seen = HashSet::new();
    let found = releases_among(context, |object| context.origin_of(object).is_target());
    let found: Vec<_> = found
        .iter()
        .map(|found| (found, rendered(context, found)))
        .filter(|(_, rendered)| *rendered != Some(true))
        .collect();
    let charts = found.iter().map(|(found, _)| &found.release.input);
    let charts = charts.filter(|command| command.is_local);
    let charts = charts.map(|command| command.chart.clone()).collect();
    let releases = found
        .iter()
        .map(|(found, rendered)| describe(found, *rendered == Some(false)))
        .filter(|found| {
            let place = &found.place;
            seen.insert((
                place.path.clone(),
                place.span,
                place.message.clone(),
                found.help.clone(),
            ))
        })
        .collect();
    (releases, charts)
}

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
}

impl ChartRelease {
    /// Returns what helm needs for a release, as far as the tree contains it.
    fn of(found: &releases::FoundRelease<'_>) -> Self {
        let mut release = Self {
            input: HelmInput {
                name: found.release.name.clone(),
                namespace: found.release.namespace.map(str::to_owned),
                ..HelmInput::default()
            },
            unknown: Vec::new(),
            chart_span: found.chart_span,
            missing_chart: found.missing_chart.clone(),
        };
        let input = &mut release.input;
        match found.found.chart {
            FoundChart::Folder(file, _) => {
                folder_of(&file).clone_into(&mut input.chart);
                input.is_local = true;
            }
            FoundChart::Named(name) => {
                name.clone_into(&mut input.chart);
                input.repository = found.repository.map(str::to_owned);
            }
            FoundChart::Unnamed(_) => {}
        }
        for values in &found.found.values {
            release.add(values);
        }
        let unread = found.found.unread.iter();
        release
            .unknown
            .extend(unread.map(|why| why.message.clone()));
        let unsupported = found.unsupported.iter();
        release
            .unknown
            .extend(unsupported.map(|&why| why.to_owned()));
        release
    }

    fn add(&mut self, values: &ReleaseValues<'_>) {
        let input = &mut self.input;
        match values {
            ReleaseValues::File(file) => input.values.push(file.path.to_string()),
            ReleaseValues::Mapping(node, _) if node.entries().len() == 0 => {}
            ReleaseValues::Mapping(node, _) => match from_node::<Value>(*node) {
                Ok(values) => input.texts.push(values.to_string()),
                Err(error) => self
                    .unknown
                    .push(format!("the values cannot be read: {}", error.message)),
            },
            ReleaseValues::Text(values) => match values.target {
                None => input.texts.push(values.text.clone().into_owned()),
                Some(path) => match values_at(path, &values.text) {
                    Some(values) => input.texts.push(values),
                    None => self
                        .unknown
                        .push(format!("the `targetPath` `{path}` is not supported")),
                },
            },
            ReleaseValues::Parameter(name, node, _, is_text) => {
                let pairs = if *is_text {
                    &mut input.set_strings
                } else {
                    &mut input.set
                };
                let value = escaped(node.text().unwrap_or_default());
                pairs.push(((*name).to_owned(), value));
            }
        }
    }
}

/// Escapes the commas of a value, except in a list, as Argo CD does.
/// Source: Argo CD 3.1, `util/helm/cmd.go`, `cleanSetParameters`.
fn escaped(value: &str) -> String {
    if value.starts_with('{') && value.ends_with('}') {
        return value.to_owned();
    }
    value.replace("\\,", ",").replace(',', "\\,")
}

/// Returns values with `value` at a `targetPath`; `None` if the path or the value has syntax other than keys separated by
/// dots, and a scalar.
/// Source: fluxcd/pkg, `chartutil.ReplacePathValue`; helm 3, `pkg/strvals`, `typedVal`.
fn values_at(path: &str, value: &str) -> Option<String> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '/');
    let is_key = |key: &str| !key.is_empty() && key.chars().all(is_plain);
    if !path.split('.').all(is_key) {
        return None;
    }
    let mut quotes = ['\'', '"'].iter();
    let quoted = quotes.find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    let leaf = match quoted {
        Some(text) => Value::from(text),
        None => typed(value)?,
    };
    let keys = path.rsplit('.');
    let nested = keys.fold(leaf, |inner, key| Value::from_iter([(key, inner)]));
    Some(nested.to_string())
}

/// Returns a value with the type that helm gives it; `None` if helm reads more than one scalar.
fn typed(value: &str) -> Option<Value> {
    if value.contains([',', '\\', '\n']) || value.starts_with('{') {
        return None;
    }
    let is = |word: &str| value.eq_ignore_ascii_case(word);
    let number = || value.parse::<i64>().ok();
    Some(match value {
        _ if is("true") => Value::Bool(true),
        _ if is("false") => Value::Bool(false),
        _ if is("null") => Value::Null,
        _ if value.starts_with('0') && value != "0" => Value::from(value),
        _ => number().map_or_else(|| Value::from(value), Value::from),
    })
}

/// A release of a chart, and the object that deploys it.
pub(in crate::engine) struct FoundRelease<'c, 't> {
    pub(in crate::engine) object: &'c Object<'t>,
    reason: NotJudgedReason,
    pub(in crate::engine) release: ChartRelease,
}

/// Returns the releases of charts in the whole tree, except those that only install a mesh.
pub(in crate::engine) fn chart_releases<'c, 't>(
    context: &'c Context<'t>,
) -> Vec<FoundRelease<'c, 't>> {
    releases_among(context, |_| true)
}

fn releases_among<'c, 't>(
    context: &'c Context<'t>,
    is_wanted: impl Fn(&Object<'t>) -> bool,
) -> Vec<FoundRelease<'c, 't>> {
    let objects = &context.inventory.pod_creators;
    let tree = context.inventory.release_tree(context.sources, objects);
    let wanted = objects.iter().filter(|object| is_wanted(object));
    wanted
        .flat_map(|object| {
            let found = tree.of(object).into_iter().map(|found| FoundRelease {
                object,
                reason: match object.kind {
                    "HelmRelease" => NotJudgedReason::HelmRelease,
                    "HelmChart" => NotJudgedReason::HelmChart,
                    _ => NotJudgedReason::ChartApplication,
                },
                release: ChartRelease::of(&found),
            });
            let mut found: Vec<_> = found.collect();
            if !found.is_empty() && installs_mesh(context, object) {
                found.retain(|found| contains_other_charts(context, &found.release));
            }
            found.retain(|found| !is_gateway(&found.release));
            found
        })
        .collect()
}

/// Returns whether the chart of a release that installs a mesh is in the tree and also contains other charts.
fn contains_other_charts(context: &Context<'_>, release: &ChartRelease) -> bool {
    let mut charts = charts(context);
    release.input.is_local
        && charts
            .any(|chart| folder_of(chart) == release.input.chart && !has_only_istio_charts(chart))
}

/// Returns whether a release is a gateway of Istio. Its chart is that of the mesh: the only container of its pods is the
/// proxy, which has a probe only if the values add one.
fn is_gateway(release: &ChartRelease) -> bool {
    let command = &release.input;
    let hints = command.repository.iter().chain([&command.chart]);
    let mut values = command.texts.iter();
    is_gateway_chart(&command.chart, hints.map(String::as_str))
        && !values.any(|text| text.contains("readinessProbe"))
}

/// Returns whether the chart is rendered for this object; `None` if helm was not run for it.
pub(super) fn rendered(context: &Context<'_>, found: &FoundRelease<'_, '_>) -> Option<bool> {
    let command = &found.release.input;
    let place = found.object.label_at(found.object.name_span(), "");
    let place = (&*place.path, place.span);
    let location_file = found.object.location_file();
    let sources = context.sources;
    command
        .is_local
        .then(|| sources.release_rendered(&command.chart, place, location_file))?
}

/// Returns whether the object releases a chart of the mesh.
fn installs_mesh(context: &Context<'_>, object: &Object<'_>) -> bool {
    let place = object.label_at(object.name_span(), "");
    let mut installs = context.control_planes.iter().chain(context.cluster.iter());
    installs.any(|install| {
        // All Applications of an ApplicationSet have the same place.
        install.place.is_at(&place) && install.name == object.name()
    })
}

fn describe(found: &FoundRelease<'_, '_>, has_failed: bool) -> NotJudged {
    let FoundRelease {
        object,
        reason,
        release,
    } = found;
    let (title, chart) = (
        format!("{}/{}", object.kind, object.name()),
        &release.input.chart,
    );
    let why = match &release.missing_chart {
        Some(why) => why.clone(),
        None if has_failed => format!("helm cannot render the chart in `{chart}`"),
        None if release.input.is_local => format!("the chart in `{chart}` is not rendered"),
        None => format!("the chart `{chart}` is not in the tree"),
    };
    let place = object.label_at(object.name_span(), "");
    let missing = release.missing();
    let help = match has_failed {
        true => "fix the error reported as `not-rendered`".to_owned(),
        false => release.help(&place.path),
    };
    NotJudged {
        reason: *reason,
        detail: Detail::None,
        place: Label {
            message: format!("{title}: {why}{missing}"),
            ..place
        },
        object: Some(object.reference()),
        help,
    }
}

/// Returns the charts that a `fleet.yaml` among the targets deploys and that are not in the tree.
pub(super) fn fleet_charts(context: &Context<'_>) -> Vec<NotJudged> {
    let files = context.inventory.plain_files.iter();
    let files = files.filter(|file| file.path.rsplit('/').next() == Some("fleet.yaml"));
    let targets = files.filter(|file| context.sources.is_target(file.path));
    let remote = targets.filter_map(|file| {
        let chart = fleet_chart(file.root).filter(|chart| !chart.is_folder)?;
        let name = chart.node.text().unwrap_or_default();
        Some(NotJudged {
            reason: NotJudgedReason::OtherDeployment,
            detail: Detail::None,
            place: Label {
                path: Arc::clone(file.path),
                span: chart.node.span(),
                message: format!("Fleet deploys the chart `{name}`, which is not in the tree"),
            },
            object: None,
            help: RENDER.to_owned(),
        })
    });
    remote.collect()
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
