//! Reports probes that are not rewritten, for `--require-rewritten`.

use std::collections::BTreeSet;

use meshprobe_mesh::finding::{Finding, Severity};
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};
use meshprobe_rules::rewrite;

use meshprobe_rules::rules::notices::NOT_REWRITTEN;

/// Reports every handler that a rewrite would still change, or that it might change if the mesh is not known. A handler
/// in a file that several overlays include is reported once.
pub(super) fn not_rewritten(predictions: &[WorkloadPrediction<'_>]) -> Vec<Finding> {
    let mut reported = BTreeSet::new();
    predictions
        .iter()
        .flat_map(|pod| {
            let outstanding = rewrite::unrewritten_handlers(pod).into_iter();
            outstanding.map(move |handler| finding(pod, handler))
        })
        .filter(|finding| {
            let label = &finding.primary;
            reported.insert((label.path.clone(), label.span, finding.message.clone()))
        })
        .collect()
}

fn finding(pod: &WorkloadPrediction<'_>, outstanding: &HandlerPrediction<'_>) -> Finding {
    let object = &pod.workload.object;
    let label = object.label_at(outstanding.handler.key.span(), "");
    let is_known = pod.dataplane.value != Dataplane::Unknown;
    let title = outstanding.title();
    let message = if is_known {
        format!("{title} is not rewritten ahead of deployment")
    } else {
        format!("{title} may need a rewrite: the files do not show whether the pod is in a mesh")
    };
    let mut finding = Finding::new(NOT_REWRITTEN, Severity::Error, label, message);
    finding.certainty = pod.dataplane.certainty;
    finding.document = object.document.index;
    finding.object = Some(object.reference());
    finding.container = Some(outstanding.container.name().to_owned());
    finding.field = Some(outstanding.handler.within.to_string());
    let help = if is_known {
        "run `meshprobe rewrite`; for a KRM function, build with `--enable-alpha-plugins \
         --enable-exec`, because kustomize silently skips the function without the second flag"
    } else {
        "add the Namespace manifests with `--context`, or set `--assume injection=all` (`none` \
         without a mesh)"
    };
    finding.help = Some(help.into());
    finding
}
