//! The way of a probe that is not rewritten, in a pod with a sidecar.

use crate::context::Dataplane;
use crate::predict::cause::Cause;

use super::facts::RouteFacts;
use super::hop::HopKind;
use super::way::Way;

/// Returns the way of a handler that targets the application through the sidecar, or around it.
pub(super) fn way(facts: &RouteFacts, cause: Cause) -> Way {
    let way = Way::new().pass(HopKind::Kubelet);
    if cause == Cause::NotCaptured {
        return facts.end_at_application(match facts.dataplane {
            // Such a pod has no redirect.
            Dataplane::Uncaptured => way,
            _ => way.bypass(HopKind::Redirect).detail(facts.capture_text()),
        });
    }
    let way = match facts.captured {
        Some(true) => way.pass(HopKind::Redirect).detail(facts.capture_text()),
        _ => way,
    };
    let mtls = facts.mtls_text();
    match cause {
        Cause::Forwarded => facts.end_at_application(way.pass(HopKind::Sidecar).detail(mtls)),
        Cause::AuthorizationUnknown => way.stop(HopKind::Sidecar).detail(mtls),
        _ => facts.end_at_application(way.fail(HopKind::Sidecar).detail(mtls)),
    }
}
