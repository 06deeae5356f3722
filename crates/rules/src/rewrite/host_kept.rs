//! Handlers that a rewrite leaves as written because they target another host.

use std::collections::BTreeMap;

use meshprobe_mesh::finding::{Finding, GuardId, SharedNote, sentence_list};
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};

use super::notes::note_at;

/// Notes the handlers that stay as written because they target another host: one note for each host.
pub(super) fn notes<'p>(
    pod: &'p WorkloadPrediction<'_>,
    kept: &'p [&HandlerPrediction<'_>],
) -> impl Iterator<Item = Finding> + 'p {
    let mut by_host: BTreeMap<&str, Vec<&HandlerPrediction<'_>>> = BTreeMap::new();
    for prediction in kept {
        let action = prediction.handler.action.as_ref().ok();
        if let Some(host) = action.and_then(|action| action.host()) {
            by_host.entry(host).or_default().push(prediction);
        }
    }
    let notes: Vec<Finding> = by_host
        .into_iter()
        .filter_map(|(host, handlers)| note(pod, host, &handlers))
        .collect();
    notes.into_iter()
}

fn note(
    pod: &WorkloadPrediction<'_>,
    host: &str,
    handlers: &[&HandlerPrediction<'_>],
) -> Option<Finding> {
    let object = &pod.workload.object;
    let label = |prediction: &HandlerPrediction<'_>, message: &str| {
        object.label_at(prediction.handler.field_span("host"), message.to_owned())
    };
    let (first, others) = handlers.split_first()?;
    let titles: Vec<String> = handlers.iter().map(|handler| handler.title()).collect();
    let (verb, its) = match others {
        [] => ("is", "its"),
        _ => ("are", "their"),
    };
    let message = format!(
        "{} {verb} not rewritten: with the opt-out, {its} requests reach host `{host}` as written",
        sentence_list(&titles)
    );
    let mut finding = note_at(pod, GuardId::HOST_KEPT, label(first, ""), message);
    let related = others.iter();
    finding
        .related
        .extend(related.map(|other| label(other, &other.title())));
    let many = format!(
        " have probes that are not rewritten: with the opt-out, their requests reach host `{host}` as written"
    );
    let one = many.clone();
    finding.shared_note = Some(SharedNote { one, many });
    Some(finding)
}
