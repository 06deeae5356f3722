//! `--require-rewritten`: what should have been rewritten ahead, and was not.

use std::collections::BTreeSet;

use crate::finding::{Finding, Severity};
use crate::predict::{HandlerPrediction, WorkloadPrediction};
use crate::rewrite;

use super::notices::NOT_REWRITTEN;

/// Reports every handler that a rewrite would still change. A file that several overlays take in
/// is told once.
pub(super) fn not_rewritten(predictions: &[WorkloadPrediction<'_>]) -> Vec<Finding> {
    let mut told = BTreeSet::new();
    let pods = predictions.iter();
    let each = pods.flat_map(|pod| {
        let left = rewrite::outstanding(pod).into_iter();
        left.map(move |handler| finding(pod, handler))
    });
    each.filter(|finding| {
        let place = &finding.primary;
        told.insert((place.path.clone(), place.span, finding.message.clone()))
    })
    .collect()
}

fn finding(pod: &WorkloadPrediction<'_>, left: &HandlerPrediction<'_>) -> Finding {
    let object = &pod.workload.object;
    let label = object.label_at(left.handler.key.span(), "");
    let message = format!("{} is not rewritten ahead of deployment", left.title());
    let mut finding = Finding::new(NOT_REWRITTEN, Severity::Error, label, message);
    finding.certainty = pod.dataplane.certainty;
    finding.document = object.document.index;
    finding.object = Some(object.reference());
    finding.container = Some(left.container.name().to_owned());
    finding.field = Some(left.handler.within.to_string());
    finding.help = Some(
        "run `meshprobe rewrite`; where a function of kustomize is to do it, build with \
         `--enable-alpha-plugins --enable-exec`: without the second one it is skipped without a word"
            .into(),
    );
    finding
}
