//! Numbers of a probe that the API server rejects.

use meshprobe_yaml::NodeRef;

use super::handler::Probe;
use crate::kube::integer::integer;
use crate::kube::slot::Slot;

/// Returns the first number of a probe that the API server rejects, with the reason. No number may be
/// negative. Liveness and startup probes require a `successThreshold` of 1, and only they may have a
/// grace period, of at least one second.
///
/// Source: Kubernetes 1.37.2, `pkg/apis/core/validation/validation.go` (`validateProbe`,
/// `validateLivenessProbe`, `validateReadinessProbe`, `validateStartupProbe`), after the defaults of
/// `SetDefaults_Probe`, which treat 0 as not set.
#[must_use]
pub fn refused_number<'t>(handler: &Probe<'t>) -> Option<(NodeRef<'t>, String)> {
    if handler.slot.is_lifecycle() {
        return None;
    }
    let number = |key: &str| {
        let node = handler.node.get(key)?;
        Some((node, integer(node)?))
    };
    for key in COUNTS {
        if let Some((node, number)) = number(key).filter(|(_, number)| *number < 0) {
            return Some((node, format!("`{key}: {number}` is negative")));
        }
    }
    let restarts = handler.slot != Slot::Readiness;
    let successes = number("successThreshold").filter(|(_, number)| restarts && *number > 1);
    if let Some((node, number)) = successes {
        let reason = format!(
            "`successThreshold: {number}` is not 1, which liveness and startup probes require"
        );
        return Some((node, reason));
    }
    let (node, grace) = number("terminationGracePeriodSeconds")?;
    if !restarts {
        let reason = "`terminationGracePeriodSeconds` is not allowed on a readiness probe";
        return Some((node, reason.to_owned()));
    }
    let reason = || format!("`terminationGracePeriodSeconds: {grace}` is less than 1");
    (grace < 1).then(|| (node, reason()))
}

/// Numbers of a probe that must not be negative.
const COUNTS: [&str; 5] = [
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
];
