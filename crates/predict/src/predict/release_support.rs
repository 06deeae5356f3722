//! Decides whether a release rewrites a handler.

use meshprobe_mesh::kube::{Container, Probe, ProbeHandler};
use meshprobe_mesh::mesh::Version;
use meshprobe_mesh::mesh::istio::rewrite::rewritten_since;

use crate::context::Context;
use crate::predict::prediction::{UnsupportedByRelease, WorkloadPrediction};

/// Returns whether the release rewrites this handler. The latest is assumed for an unknown release.
pub(in crate::predict) fn is_supported<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    container: &Container<'t>,
    handler: &Probe<'t>,
) -> bool {
    let action = handler.action.as_ref().ok();
    action.is_some_and(|action| rewritten_since(action, handler.slot, container.list).is_some())
        && unsupported_by_release(context, pod, container, handler).is_none()
}

/// Returns why the release does not rewrite a handler that a later release rewrites.
pub(in crate::predict) fn unsupported_by_release<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    container: &Container<'t>,
    handler: &Probe<'t>,
) -> Option<UnsupportedByRelease> {
    let action = handler.action.as_ref().ok()?;
    let release = pod.release.value?;
    let since = rewritten_since(action, handler.slot, container.list)?;
    if release < since {
        return Some(UnsupportedByRelease::Release(since));
    }
    // Releases 1.12 to 1.18 have this setting.
    let has_switch =
        matches!(action, ProbeHandler::TcpSocket { .. }) && release < Version::new(1, 19);
    let switch = has_switch.then(|| context.istio(&pod.workload).rewriting().rewrites_tcp());
    let is_off = switch.flatten().is_some_and(|on| !on.value);
    is_off.then_some(UnsupportedByRelease::TcpSwitch)
}
