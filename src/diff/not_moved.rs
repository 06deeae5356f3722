//! Pods that a supposed move to another dataplane does not move.

use meshprobe_mesh::finding::Label;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::settings::DataplaneMove;
use meshprobe_predict::context::{Context, Dataplane};
use meshprobe_predict::predict::WorkloadPrediction;

/// A workload that stays where it is, because of a label of its pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotMoved {
    /// The workload, such as `shop/Deployment/web`.
    pub workload: String,
    /// Whether its pods keep a sidecar, and not ambient mode.
    pub keeps_sidecar: bool,
    /// The key of the label that decides.
    pub label: String,
    /// The line of the label.
    pub place: Label,
}

/// Returns the reported workloads that a label keeps in another dataplane than the user supposes.
pub(super) fn not_moved(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
) -> Vec<NotMoved> {
    let reported = predictions.iter().filter(|pod| pod.is_target);
    reported.filter_map(|pod| unmoved(context, pod)).collect()
}

fn unmoved(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<NotMoved> {
    let object = &pod.workload.object;
    let keeps_sidecar = match (
        context.user_facts(object).overrides.dataplane?,
        pod.dataplane.value,
    ) {
        (DataplaneMove::Ambient | DataplaneMove::None, Dataplane::Sidecar) => true,
        (DataplaneMove::Sidecar | DataplaneMove::None, Dataplane::Ambient) => false,
        _ => return None,
    };
    let deciding = match keeps_sidecar {
        true => [keys::INJECT, keys::REVISION].as_slice(),
        false => [keys::DATAPLANE_MODE].as_slice(),
    };
    let mut labels = deciding
        .iter()
        .filter_map(|key| Some((*key, pod.workload.template.label(key)?)));
    let (key, entry) = labels.next()?;
    let namespace = pod.namespace.as_ref().map(|name| format!("{name}/"));
    Some(NotMoved {
        workload: format!(
            "{}{}/{}",
            namespace.unwrap_or_default(),
            object.kind,
            object.name()
        ),
        keeps_sidecar,
        label: key.to_owned(),
        place: object.label_at(entry.key.span(), ""),
    })
}
