//! Releases of charts: `HelmRelease`s of Flux, and Applications of Argo CD with a chart.

use std::collections::BTreeSet;

use hashbrown::HashSet;
use meshprobe_mesh::finding::Label;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::install::{has_only_istio_charts, is_gateway_chart};
use meshprobe_predict::context::{Context, Detail, NotJudged, NotJudgedReason};

use super::argo;
use super::chart_path::{charts, folder_of};
use super::chart_release::ChartRelease;
use super::flux;
use super::helm_chart;

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
    let objects = context.inventory.pod_creators.iter();
    objects
        .filter(|object| is_wanted(object))
        .flat_map(|object| {
            let mut found = releases_of(context, object);
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
    installs.any(|install| install.place.is_at(&place))
}

fn releases_of<'c, 't>(
    context: &'c Context<'t>,
    object: &'c Object<'t>,
) -> Vec<FoundRelease<'c, 't>> {
    let (reason, releases): (_, Vec<ChartRelease>) = match (object.group(), object.kind) {
        ("helm.toolkit.fluxcd.io" | "helm.fluxcd.io", "HelmRelease") => {
            let release = flux::release(context, object);
            (NotJudgedReason::HelmRelease, release.into_iter().collect())
        }
        ("helm.cattle.io", "HelmChart") => {
            let release = helm_chart::release(object);
            (NotJudgedReason::HelmChart, release.into_iter().collect())
        }
        ("argoproj.io", "Application" | "ApplicationSet") => (
            NotJudgedReason::ChartApplication,
            argo::releases(context, object),
        ),
        _ => return Vec::new(),
    };
    let found = releases.into_iter().map(|release| FoundRelease {
        object,
        reason,
        release,
    });
    found.collect()
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
