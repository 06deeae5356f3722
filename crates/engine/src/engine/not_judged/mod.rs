//! Lists what runs pods and is not judged, with what to do to judge it.

mod charts;
mod releases;
mod workload;

use meshprobe_predict::context::{NotJudged, NotJudgedReason};

use super::predicted::Predicted;

pub(super) use charts::{ChartDeployments, ChartTree, chart_folders};
pub(super) use releases::{FoundRelease, HelmInput, chart_releases};

/// Returns everything among the targets that is not judged, sorted by place.
pub(super) fn not_judged(predicted: &Predicted<'_>) -> Vec<NotJudged> {
    let context = &predicted.context;
    let mut found = context.inventory.not_judged.clone();
    let (releases, released) = releases::releases(context);
    found.extend(releases);
    found.extend(charts::unrendered_charts(context, &released));
    found.extend(releases::fleet_charts(context));
    found.extend(workload::workloads(&predicted.predictions));
    found.extend(workload::kustomizations(predicted));
    found.extend(workload::unreadable_files(context.sources));
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
