//! Pods that were rewritten ahead: no fix of theirs is safe.

use crate::kube::Action;
use crate::mesh::istio::rewrite::is_agent_path;
use crate::predict::WorkloadPrediction;

/// Tells whether the manifest points probes at the agent, or carries the prober env.
pub(super) fn is_rewritten(pod: &WorkloadPrediction<'_>) -> bool {
    pod.prober_env.is_some()
        || pod
            .handlers
            .iter()
            .any(|handler| points_at_agent(handler.handler.action.as_ref().ok()))
}

/// Tells whether a handler asks the agent.
pub(super) fn points_at_agent(action: Option<&Action>) -> bool {
    matches!(action, Some(Action::HttpGet(http)) if is_agent_path(&http.path))
}
