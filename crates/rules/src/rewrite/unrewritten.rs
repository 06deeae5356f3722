//! Lists the handlers that the mesh rewrites at admission.

use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};

use crate::rewrite::handlers;

/// Returns the handlers that the mesh rewrites at admission and that are not pre-rewritten. A pod that is not injected
/// or that opted out has none. If the tree does not show whether a pod is injected, its handlers are included, because
/// nothing proves that they need no rewrite.
#[must_use]
pub fn unrewritten_handlers<'a, 't>(
    pod: &'a WorkloadPrediction<'t>,
) -> Vec<&'a HandlerPrediction<'t>> {
    let opted_out = !pod.rewrite.value && pod.prober_env.is_none();
    let may_be_injected = matches!(pod.dataplane.value, Dataplane::Sidecar | Dataplane::Unknown);
    if !may_be_injected || opted_out || !pod.is_target {
        return Vec::new();
    }
    handlers::wanted(pod)
}
