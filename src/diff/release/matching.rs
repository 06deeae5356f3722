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
    // The first injection that does not keep the env also drops new entries.
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
    if has(Cause::NoMesh) && has(Cause::Ambient) {
        effects.push(Effect::NamespacesExcluded);
    }
    if has(Cause::NoMesh) && before.outcome == after.outcome {
        effects.extend([Effect::HostPodsExcluded, Effect::HostPodsExcludedFirst]);
    }
    if has(Cause::NoMesh) {
        // Words other than these two had a meaning only in older releases.
        let is_exact = matches!(after.inject_label.as_deref(), Some("true" | "false"));
        effects.push(match is_exact {
            true => Effect::InjectLabelRead,
            false => Effect::InjectLabelExact,
        });
    }
    if has(Cause::NoMesh) || has(Cause::MeshUnknown) {
        effects.push(Effect::TagServicesRead);
    }
    if before.rewritten_to.is_empty() != after.rewritten_to.is_empty() {
        effects.extend(rewrites(after));
        effects.push(Effect::RewriteByDefault);
    }
    if after.has_native_annotation {
        effects.push(Effect::NativeAnnotationRead);
    }
    effects.push(Effect::RestartPolicyKept);
    effects.push(Effect::NativeSidecarsByDefault);
    effects.push(Effect::PodAddressCalled);
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
        (is_of("tcp "), Effect::TcpSwitchRemoved),
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
