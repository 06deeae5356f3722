//! What the rules about probes have in common that meet the sidecar because the rewrite is off.

use crate::finding::Finding;
use crate::predict::{HandlerPrediction, WorkloadPrediction};

use super::{Rule, Scene, enable_rewrite, scene};

/// Reports the probes that are struck, with the rewrite as their cure. Hooks have rules of their
/// own, and so have probes that the release does not rewrite at all.
pub(super) fn report(
    rule: &Rule,
    scene: &Scene<'_, '_>,
    is_struck: impl Fn(&WorkloadPrediction<'_>, &HandlerPrediction<'_>) -> bool,
    message: impl Fn(&WorkloadPrediction<'_>, &HandlerPrediction<'_>) -> String,
) -> Vec<Finding> {
    let struck = scene.handlers().filter(|(pod, handler)| {
        handler.gap.is_none() && !handler.handler.slot.is_lifecycle() && is_struck(pod, handler)
    });
    struck
        .map(|(pod, handler)| {
            let span = handler.handler.key.span();
            let message = message(pod, handler);
            let mut finding = scene::about_handler(rule, pod, handler, span, message);
            offer(scene, pod, &mut finding);
            finding
        })
        .collect()
}

/// Gives a finding the fix that switches the rewrite on, where there is an injector to rewrite.
pub(super) fn offer<'t>(
    scene: &Scene<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    finding: &mut Finding,
) {
    if pod.is_asked {
        enable_rewrite::offer(scene, pod, finding);
    } else {
        let help = "the manifest brings its own sidecar, and nobody rewrites its probes: rewrite \
                    them ahead, or have the pod injected";
        finding.help = Some(help.to_owned());
    }
}
