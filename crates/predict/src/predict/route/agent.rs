//! The way of a probe that targets Istio's agent.

use crate::predict::cause::Cause;

use super::facts::RouteFacts;
use super::hop::HopKind;
use super::way::Way;

/// Returns the way of a handler that targets the agent, in the manifest or after the rewrite.
pub(super) fn way(facts: &RouteFacts, cause: Cause) -> Way {
    let way = Way::new().pass(HopKind::Kubelet);
    if cause == Cause::HostKept {
        return facts.end_at_application(way.fail(HopKind::OtherTarget).miss(HopKind::Agent));
    }
    let way = captured(facts, cause, way);
    let way = match cause {
        Cause::StatusPortCaptured => way.miss(HopKind::Agent),
        Cause::Rewritten => way.pass(HopKind::Agent),
        _ => way.fail(HopKind::Agent),
    };
    let way = way.detail(facts.port.map(|port| format!("port {port}")));
    facts.end_at_application(way)
}

/// Adds the redirect of the agent's port, as far as it is known.
fn captured(facts: &RouteFacts, cause: Cause, way: Way) -> Way {
    // The capture does not matter without a sidecar.
    if matches!(
        cause,
        Cause::RewrittenWithoutSidecar | Cause::AgentRefusesEnv
    ) {
        return way;
    }
    let Some(is_captured) = facts.captured else {
        return way;
    };
    if !is_captured {
        return way.bypass(HopKind::Redirect).detail(facts.capture_text());
    }
    let way = way.pass(HopKind::Redirect).detail(facts.capture_text());
    let way = match cause {
        Cause::StatusPortCaptured => way.fail(HopKind::Sidecar),
        _ => way.pass(HopKind::Sidecar),
    };
    way.detail(facts.mtls_text())
}
