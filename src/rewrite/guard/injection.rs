//! Is there going to be a sidecar, and does it take its env from where it is written?

use crate::context::{Context, Dataplane, proxy_container};
use crate::finding::Certainty;
use crate::kube::ContainerList;
use crate::mesh::istio::install::NativeSidecars;
use crate::predict::WorkloadPrediction;
use crate::settings::InjectionAssumption;

use super::{Refusal, name_span};

/// Injection must follow from the tree, or be assumed by option.
pub(super) fn injection(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    let given = context.given(&pod.workload.object);
    let facts = [&given.overrides, &given.assume];
    let by_option = facts
        .iter()
        .any(|facts| facts.injection == Some(InjectionAssumption::All));
    let proven = pod.dataplane.certainty >= Certainty::Default || by_option;
    // A template without redirect is for the template guard to judge.
    if pod.dataplane.value == Dataplane::Uncaptured {
        return None;
    }
    if pod.dataplane.value == Dataplane::Sidecar && proven {
        return None;
    }
    let because: Vec<&str> = pod
        .dataplane
        .because
        .iter()
        .map(|reason| reason.message.as_str())
        .collect();
    let settle = pod
        .dataplane
        .because
        .iter()
        .find_map(|reason| reason.settle);
    let said = format!(
        "nothing proves that it will be injected ({})",
        because.join("; ")
    );
    let help = format!(
        "add the Namespace manifest to the run (`--context`), or say `{}`",
        settle.map_or("--assume injection=all", |settle| settle
            .trim_end_matches("|none"))
    );
    Some(Refusal::new("injection-unproven", name_span(pod), said).with_help(help))
}

/// A classic sidecar does not take the env of a partial `istio-proxy` among the init containers.
pub(super) fn init_proxy<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
) -> Option<Refusal> {
    let proxy = proxy_container(&pod.workload)?;
    let is_partial = proxy.image().is_none_or(|image| image == "auto");
    let native = context.native_sidecars(&pod.workload);
    let is_native = native.value == NativeSidecars::On && native.certainty >= Certainty::Default;
    (proxy.list == ContainerList::Init && is_partial && !is_native).then(|| {
        let said = "its partial `istio-proxy` stands in `initContainers`, whose env a classic \
                    sidecar does not take";
        Refusal::new("proxy-in-init-containers", name_span(pod), said)
            .with_help("move it to the end of `containers`")
    })
}
