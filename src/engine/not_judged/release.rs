//! Releases of charts: `HelmRelease`s of Flux, and Applications of Argo CD with a chart.

use hashbrown::HashSet;

use crate::context::{Context, NotJudged, NotJudgedReason};
use crate::kube::Object;

use super::argo;
use super::chart_release::ChartRelease;
use super::flux;

/// Returns the objects that release charts, except those that install a mesh: they are read for facts.
pub(super) fn releases(context: &Context<'_>) -> Vec<NotJudged> {
    let mut seen = HashSet::new();
    let objects = context.inventory.pod_creators.iter();
    objects
        .filter(|object| context.origin_of(object).is_target() && !installs_mesh(context, object))
        .flat_map(|object| release(context, object))
        .filter(|found| {
            let place = &found.place;
            seen.insert((place.path.clone(), place.span, found.help.clone()))
        })
        .collect()
}

/// Returns whether the object releases a chart of the mesh.
fn installs_mesh(context: &Context<'_>, object: &Object<'_>) -> bool {
    let place = object.label_at(object.name_span(), "");
    let mut installs = context.control_planes.iter().chain(context.cluster.iter());
    installs.any(|install| install.place.is_at(&place))
}

fn release(context: &Context<'_>, object: &Object<'_>) -> Vec<NotJudged> {
    let (reason, releases): (_, Vec<ChartRelease>) = match (object.group(), object.kind) {
        ("helm.toolkit.fluxcd.io" | "helm.fluxcd.io", "HelmRelease") => {
            let release = flux::release(context, object);
            (NotJudgedReason::HelmRelease, release.into_iter().collect())
        }
        ("argoproj.io", "Application" | "ApplicationSet") => (
            NotJudgedReason::ChartApplication,
            argo::releases(context, object),
        ),
        _ => return Vec::new(),
    };
    let is_rendered = |release: &ChartRelease| {
        let command = &release.command;
        command.is_local && context.sources.has_rendered_chart(&command.chart)
    };
    releases
        .iter()
        .filter(|release| !is_rendered(release))
        .map(|release| describe(object, reason, release))
        .collect()
}

fn describe(object: &Object<'_>, reason: NotJudgedReason, release: &ChartRelease) -> NotJudged {
    let (title, chart) = (
        format!("{}/{}", object.kind, object.name()),
        &release.command.chart,
    );
    let why = if release.command.is_local {
        format!("the chart in `{chart}` is not rendered")
    } else {
        format!("the chart `{chart}` is not in the tree")
    };
    let missing = match release.missing.as_slice() {
        [] => String::new(),
        missing => format!("; {}", missing.join("; ")),
    };
    NotJudged {
        reason,
        place: object.label_at(object.name_span(), format!("{title}: {why}{missing}")),
        object: Some(object.reference()),
        help: format!("`{}`", release.command.line()),
    }
}
