//! Decides which changes of behaviour can make two predictions differ.

use meshprobe_mesh::kube::{ContainerList, Slot};
use meshprobe_predict::predict::Cause;

use super::super::probe_state::ProbeState;
use super::release_fact::Effect;

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
        effects.extend([Effect::HostHeaderDropped, Effect::HostHeaderKept]);
    }
    if has(Cause::NetworkPluginDrops) {
        effects.push(Effect::OwnInterfacesInAmbient);
    }
    if before.cause.is_none() {
        effects.push(Effect::MachineCertificatesVerified);
    }
    if has(Cause::NoMesh) {
        effects.extend(memberships(before, after));
    }
    if has(Cause::MeshUnknown) {
        effects.push(Effect::TagServicesRead);
    }
    if before.rewritten_to.is_empty() != after.rewritten_to.is_empty() {
        effects.extend(rewrites(after));
        // The only changes after which a handler is not rewritten any more.
        effects.extend([Effect::GrpcSimpleOptOut, Effect::ProxylessOptOut]);
        effects.push(Effect::RewriteByDefault);
    }
    effects.extend(start_orders(after));
    effects
}

/// Returns what decides whether a pod is in the mesh.
fn memberships(before: &ProbeState, after: &ProbeState) -> Vec<Effect> {
    let has = |cause: Cause| before.cause == Some(cause) || after.cause == Some(cause);
    // Only the certainty differs.
    if before.outcome == after.outcome {
        return vec![
            Effect::HostPodsExclusionLost,
            Effect::HostPodsExcluded,
            Effect::HostPodsExcludedFirst,
        ];
    }
    let mut effects = Vec::new();
    if has(Cause::Ambient) {
        effects.push(Effect::NamespacesExcluded);
    }
    // Words other than these two had a meaning only in older releases.
    let is_exact = |value: &&str| matches!(*value, "true" | "false");
    let (label, annotation) = (
        after.pod.inject_label.as_deref(),
        after.pod.inject_annotation.as_deref(),
    );
    let values = [label, annotation];
    if values.into_iter().flatten().any(|value| !is_exact(&value)) {
        effects.push(Effect::InjectLabelExact);
    }
    if label.is_some() {
        effects.push(Effect::InjectLabelRead);
    }
    effects.push(Effect::TagServicesRead);
    effects
}

/// Returns what decides whether the sidecar starts before a native sidecar of the application whose startup probe must
/// pass first. Before the injector kept `restartPolicy`, there was none.
fn start_orders(probe: &ProbeState) -> Vec<Effect> {
    if probe.list != Some(ContainerList::Init) || probe.id.slot != Slot::Startup.key() {
        return Vec::new();
    }
    let annotation = probe.pod.has_native_annotation;
    let annotation = annotation.then_some(Effect::NativeAnnotationRead);
    [
        Some(Effect::RestartPolicyKept),
        annotation,
        Some(Effect::NativeSidecarsByDefault),
    ]
    .into_iter()
    .flatten()
    .collect()
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
    probe.pod.refused_for.as_deref().map(refusal_of)
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
