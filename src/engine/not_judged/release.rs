//! Releases of charts: `HelmRelease`s of Flux, and Applications of Argo CD with a chart.

use hashbrown::HashSet;

use crate::context::{Context, NotJudged, NotJudgedReason};
use crate::finding::Label;
use crate::kube::Object;

use super::argo;
use super::chart_release::ChartRelease;
use super::flux;
use super::helm_command::quoted;
use super::release_tree::ReleaseTree;

/// Returns the objects that release charts, except those that install a mesh: they are read for facts.
pub(super) fn releases(context: &Context<'_>) -> Vec<NotJudged> {
    let mut seen = HashSet::new();
    releases_among(context, |object| context.origin_of(object).is_target())
        .iter()
        .filter(|found| !is_rendered(context, found))
        .map(describe)
        .filter(|found| {
            let place = &found.place;
            seen.insert((
                place.path.clone(),
                place.span,
                place.message.clone(),
                found.help.clone(),
            ))
        })
        .collect()
}

/// A release of a chart, and the object that deploys it.
pub(in crate::engine) struct FoundRelease<'c, 't> {
    pub(in crate::engine) object: &'c Object<'t>,
    reason: NotJudgedReason,
    pub(in crate::engine) release: ChartRelease,
}

/// Returns the releases of charts in the whole tree, except those that install a mesh.
pub(in crate::engine) fn chart_releases<'c, 't>(
    context: &'c Context<'t>,
) -> Vec<FoundRelease<'c, 't>> {
    releases_among(context, |_| true)
}

fn releases_among<'c, 't>(
    context: &'c Context<'t>,
    is_wanted: impl Fn(&Object<'t>) -> bool,
) -> Vec<FoundRelease<'c, 't>> {
    let tree = ReleaseTree::new(context);
    let objects = context.inventory.pod_creators.iter();
    objects
        .filter(|object| is_wanted(object) && !installs_mesh(context, object))
        .flat_map(|object| releases_of(&tree, object))
        .collect()
}

/// Returns whether the chart is rendered for this object.
fn is_rendered(context: &Context<'_>, found: &FoundRelease<'_, '_>) -> bool {
    let command = &found.release.command;
    let place = found.object.label_at(found.object.name_span(), "");
    command.is_local
        && context.sources.has_rendered_release(
            &command.chart,
            (&place.path, place.span),
            found.object.location_file(),
        )
}

/// Returns whether the object releases a chart of the mesh.
fn installs_mesh(context: &Context<'_>, object: &Object<'_>) -> bool {
    let place = object.label_at(object.name_span(), "");
    let mut installs = context.control_planes.iter().chain(context.cluster.iter());
    installs.any(|install| install.place.is_at(&place))
}

fn releases_of<'c, 't>(
    tree: &ReleaseTree<'c, 't>,
    object: &'c Object<'t>,
) -> Vec<FoundRelease<'c, 't>> {
    let (reason, releases): (_, Vec<ChartRelease>) = match (object.group(), object.kind) {
        ("helm.toolkit.fluxcd.io" | "helm.fluxcd.io", "HelmRelease") => {
            let release = flux::release(tree, object);
            (NotJudgedReason::HelmRelease, release.into_iter().collect())
        }
        ("argoproj.io", "Application" | "ApplicationSet") => (
            NotJudgedReason::ChartApplication,
            argo::releases(tree.context, object),
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

fn describe(found: &FoundRelease<'_, '_>) -> NotJudged {
    let FoundRelease {
        object,
        reason,
        release,
    } = found;
    let (title, chart) = (
        format!("{}/{}", object.kind, object.name()),
        &release.command.chart,
    );
    let why = if release.command.is_local {
        format!("the chart in `{chart}` is not rendered")
    } else {
        format!("the chart `{chart}` is not in the tree")
    };
    let place = object.label_at(object.name_span(), "");
    let (missing, command) = if release.is_complete() {
        let command = format!("meshprobe check --helm auto {}", quoted(&place.path));
        (String::new(), command)
    } else {
        let missing = release.unknown.iter().chain(&release.left_out);
        let missing: String = missing.map(|part| format!("; {part}")).collect();
        (missing, release.command.line())
    };
    NotJudged {
        reason: *reason,
        place: Label {
            message: format!("{title}: {why}{missing}"),
            ..place
        },
        object: Some(object.reference()),
        help: format!("`{command}`"),
    }
}
