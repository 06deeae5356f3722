//! Guards of injection: the pod must get a sidecar, and the sidecar must read the env from its carrier.

use meshprobe_mesh::finding::{Certainty, GuardId};
use meshprobe_mesh::kube::ContainerList;
use meshprobe_mesh::mesh::istio::install::NativeSidecars;
use meshprobe_mesh::settings::InjectionAssumption;
use meshprobe_predict::context::{Context, Dataplane, proxy_container};
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rewrite::guard::failure::{GuardFailure, name_span};
use crate::rewrite::guard::injection_unproven::{GivenRevision, injection_unproven};

/// Refuses unless injection follows from the tree, an option assumes it, or a stream selects a revision.
pub(super) fn injection(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
) -> Option<GuardFailure> {
    let given = context.user_facts(&pod.workload.object);
    let facts = [&given.overrides, &given.assume];
    let by_option = facts
        .iter()
        .any(|facts| facts.injection == Some(InjectionAssumption::All));
    let proven = by_option || pod.dataplane.is_proven_or_assumed_by_user();
    // The template guard handles templates without traffic capture.
    if pod.dataplane.value == Dataplane::Uncaptured {
        return None;
    }
    let accepted = || proven || GivenRevision::of(context, pod).is_some();
    if pod.dataplane.value == Dataplane::Sidecar && accepted() {
        return None;
    }
    Some(injection_unproven(context, pod))
}

/// Refuses an `istio-proxy` among the init containers that is not a sidecar of its own, if the injected sidecar may be
/// classic: the injector then adds a second `istio-proxy` to `containers`, which does not get that env. Measured with
/// the webhook of Istio 1.31 (`tests/oracle/istio.sh`).
pub(super) fn init_proxy<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
) -> Option<GuardFailure> {
    let proxy = proxy_container(&pod.workload)?;
    let is_partial = proxy.image().is_none_or(|image| image == "auto");
    let native = context.istio(&pod.workload).startup().native_sidecars();
    let is_native = native.value == NativeSidecars::On && native.is_proven_or_assumed_by_user();
    let is_own = !is_partial && proxy.is_native_sidecar();
    (proxy.list == ContainerList::Init && !is_own && !is_native).then(|| {
        let message = "its `istio-proxy` container is in `initContainers`, and a classic sidecar \
                       ignores its env";
        GuardFailure::new(GuardId::PROXY_IN_INIT_CONTAINERS, name_span(pod), message)
            .with_help(
                "move it to the end of `containers`, or use `--assume native-sidecars=true` if the mesh has \
                 native sidecars",
            )
    })
}

/// Refuses a pod that the injector rejects because of an annotation. Other guards refuse an invalid port of the agent and
/// an invalid `proxy.istio.io/config`.
pub(super) fn rejected_pod(pod: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
    let refused = pod.refused.as_ref()?;
    let reason = refused.because.first()?;
    let span = reason.place.as_ref().map(|place| place.span);
    let span = span.unwrap_or_else(|| name_span(pod));
    let settle = refused.because.iter().find_map(|reason| reason.settle);
    let failure = GuardFailure::new(GuardId::ADMISSION_REFUSED, span, reason.message.clone());
    Some(match settle {
        Some(option) if refused.certainty < Certainty::Default => failure.with_help(format!(
            "correct the annotation; it is accepted by other releases (`{option}`)"
        )),
        _ => failure.with_help("correct the annotation"),
    })
}
