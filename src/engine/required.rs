//! `--require-rewritten`: what should have been rewritten ahead, and was not.

use std::collections::BTreeSet;

use crate::context::Dataplane;
use crate::finding::{Finding, Severity};
use crate::predict::{HandlerPrediction, WorkloadPrediction};
use crate::rewrite;

use super::notices::NOT_REWRITTEN;

/// Reports every handler that a rewrite would still change, or might, as far as anyone can tell. A file that several overlays take in
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
    let is_known = pod.dataplane.value != Dataplane::Unknown;
    let title = left.title();
    let message = if is_known {
        format!("{title} is not rewritten ahead of deployment")
    } else {
        format!(
            "nothing proves that {title} needs no rewrite: the files do not say whether a mesh is there"
        )
    };
    let mut finding = Finding::new(NOT_REWRITTEN, Severity::Error, label, message);
    finding.certainty = pod.dataplane.certainty;
    finding.document = object.document.index;
    finding.object = Some(object.reference());
    finding.container = Some(left.container.name().to_owned());
    finding.field = Some(left.handler.within.to_string());
    let help = if is_known {
        "run `meshprobe rewrite`; where a function of kustomize is to do it, build with \
         `--enable-alpha-plugins --enable-exec`: without the second one it is skipped without a word"
    } else {
        "give the Namespace manifests with `--context`, or say `--assume injection=all` (`none` \
         where no mesh is)"
    };
    finding.help = Some(help.into());
    finding
}
