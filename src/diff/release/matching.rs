//! Decides which changes of behaviour can make two predictions differ.

use crate::kube::ContainerList;
use crate::predict::Cause;

use super::super::probe_state::ProbeState;
use super::facts::Effect;

/// Returns the changes of behaviour that can be behind the difference between two predictions, the most specific first.
pub(super) fn effects_on_probe(before: &ProbeState, after: &ProbeState) -> Vec<Effect> {
    let has = |cause: Cause| before.cause == Some(cause) || after.cause == Some(cause);
    let mut effects = Vec::new();
    if has(Cause::PodRefused) {
        effects.extend(refusals(before).or_else(|| refusals(after)));
    }
    if has(Cause::AgentRefusesEnv) {
        effects.push(Effect::HookEntriesAccepted);
    }
    if has(Cause::EntryReplaced) {
        effects.push(Effect::ProberEnvMerged);
    }
    if has(Cause::EntryDropped) {
        effects.push(Effect::ProberEnvAppended);
    }
    if has(Cause::HostHeaderDropped) {
        effects.push(Effect::HostHeaderKept);
    }
    if has(Cause::NetworkPluginDrops) {
        effects.push(Effect::OwnInterfacesInAmbient);
    }
    if before.cause.is_none() {
        effects.push(Effect::MachineCertificatesVerified);
    }
    if has(Cause::NoMesh) {
        effects.push(Effect::InjectLabelExact);
    }
    if before.rewritten_to.is_empty() != after.rewritten_to.is_empty() {
        effects.extend(rewrites(after));
    }
    effects.push(Effect::RestartPolicyKept);
    effects.push(Effect::NativeSidecarsByDefault);
    effects
}

/// Returns what the injector must support to rewrite a handler, the newest first.
fn rewrites(probe: &ProbeState) -> impl Iterator<Item = Effect> {
    let is_init = probe.list == Some(ContainerList::Init);
    let is_of = |kind: &str| probe.written.starts_with(kind);
    [
        (!probe.id.slot.ends_with("robe"), Effect::HooksRewritten),
        (is_init, Effect::InitContainersRewritten),
        (is_of("grpc "), Effect::GrpcRewritten),
        (is_of("tcp "), Effect::TcpSocketRewritten),
    ]
    .into_iter()
    .filter_map(|(needs, effect)| needs.then_some(effect))
}

/// Returns which validation refuses a pod: the annotation at the place of the reason shows it.
fn refusals(probe: &ProbeState) -> Option<Effect> {
    probe.refused_for.as_deref().map(refusal_of)
}

/// Returns which validation refuses an annotation, given a text with its name.
pub(super) fn refusal_of(annotation: &str) -> Effect {
    if annotation.contains("prometheus") {
        Effect::PrometheusPortsChecked
    } else if annotation.contains("nterface") {
        Effect::InterfacesValidated
    } else {
        Effect::QuantitiesValidated
    }
}
