//! Lists what runs pods and is not judged, with what to do to judge it.

mod argo;
mod chart;
mod chart_deployments;
mod chart_path;
mod chart_release;
mod chart_tree;
mod fleet;
mod flux;
mod helm_chart;
mod release;
mod target_path;
mod unreadable;
mod workload;

use meshprobe_predict::context::{NotJudged, NotJudgedReason};

use super::analysis::Analysis;

pub(super) use chart::chart_folders;
pub(super) use chart_deployments::ChartDeployments;
pub(super) use chart_release::HelmInput;
pub(super) use chart_tree::ChartTree;
pub(super) use release::{FoundRelease, chart_releases};

/// Returns everything among the targets that is not judged, sorted by place.
pub(super) fn not_judged(analysis: &Analysis<'_, '_>) -> Vec<NotJudged> {
    let context = analysis.context;
    let mut found = context.inventory.not_judged.clone();
    let (releases, released) = release::releases(context);
    found.extend(releases);
    found.extend(chart::charts(context, &released));
    found.extend(fleet::charts(context));
    found.extend(workload::workloads(&analysis.predictions));
    found.extend(workload::kustomizations(analysis));
    found.extend(unreadable::files(context.sources));
    found.sort_by(|a, b| order(a).cmp(&order(b)));
    // Overlays may contain the same object.
    found.dedup_by(|a, b| {
        a == b || a.reason == NotJudgedReason::DeployedFolder && order(a) == order(b)
    });
    found
}

fn order(found: &NotJudged) -> impl Ord + '_ {
    let place = &found.place;
    (&place.path, place.span, found.reason, &place.message)
}
