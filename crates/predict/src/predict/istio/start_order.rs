//! Startup probes that the kubelet sends before the sidecar starts: those of native sidecars of the application.
//!
//! The kubelet starts no container after an init container before its startup probe passes.

use meshprobe_mesh::kube::{Container, Slot, Workload};
use meshprobe_mesh::mesh::Fact;

use crate::context::Context;
use crate::predict::cause::Cause;
use crate::predict::outcome::Outcome;
use crate::predict::prediction::Verdict;
use crate::predict::verdict_builder::VerdictBuilder;

/// A handler: its container and slot.
pub(in crate::predict) type HandlerSlot<'h, 't> = (&'h Container<'t>, Slot);

/// Returns whether a handler runs before the containers that follow an init container.
pub(in crate::predict) fn comes_first((container, slot): HandlerSlot<'_, '_>) -> bool {
    slot == Slot::Startup && container.is_native_sidecar()
}

/// Returns whether the sidecar, or the capture for it, receives the request of a handler that is not rewritten. A startup
/// probe may pass before the capture starts.
pub(in crate::predict) fn capture<'t>(
    context: &Context<'t>,
    workload: &Workload<'t>,
    handler: HandlerSlot<'_, 't>,
    port: i64,
) -> Fact<bool> {
    let captured = context.istio(workload).ports().capture(port);
    if !captured.value {
        return captured;
    }
    let before = capture_before_sidecar(context, workload, handler);
    before.filter(|before| !before.value).unwrap_or(captured)
}

/// Returns the verdict of a handler whose request is captured before the sidecar starts; `None` for others.
pub(in crate::predict) fn captured_too_early<'t>(
    context: &Context<'t>,
    workload: &Workload<'t>,
    handler: HandlerSlot<'_, 't>,
    mut builder: VerdictBuilder,
) -> Option<Verdict> {
    let before = capture_before_sidecar(context, workload, handler)?;
    builder.depends_on(&before);
    let fails = || builder.verdict(Outcome::Fails, Cause::BeforeSidecar);
    before.value.then(fails)
}

fn capture_before_sidecar<'t>(
    context: &Context<'t>,
    workload: &Workload<'t>,
    handler: HandlerSlot<'_, 't>,
) -> Option<Fact<bool>> {
    let (container, _) = handler;
    let startup = context.istio(workload).startup();
    comes_first(handler)
        .then(|| startup.capture_before_sidecar(container.name()))
        .flatten()
}
