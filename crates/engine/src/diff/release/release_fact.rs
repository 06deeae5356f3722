//! A change of behaviour between releases of Istio, and its effects on predictions.

use meshprobe_mesh::kube::{ContainerList, Slot};
use meshprobe_mesh::mesh::{ReleaseChange, Version};
use meshprobe_predict::predict::Cause;

use super::super::probe_state::ProbeState;

/// What a change of behaviour affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    TcpSocketRewritten,
    GrpcRewritten,
    ProxylessOptOut,
    GrpcSimpleOptOut,
    InitContainersRewritten,
    HooksRewritten,
    HookEntriesAccepted,
    ProberEnvMerged,
    ProberEnvAppended,
    InjectLabelExact,
    RestartPolicyKept,
    NativeSidecarsByDefault,
    NativeAnnotationRead,
    InjectLabelRead,
    TcpSwitchRemoved,
    RewriteByDefault,
    PodAddressCalled,
    LegacyPoliciesIgnored,
    AmbientBypassRead,
    NamespacesExcluded,
    HostPodsExcludedFirst,
    HostPodsExclusionLost,
    HostPodsExcluded,
    TagServicesRead,
    HostHeaderDropped,
    HostHeaderKept,
    QuantitiesValidated,
    InterfacesValidated,
    PrometheusPortsChecked,
    MachineCertificatesVerified,
    OwnInterfacesInAmbient,
}

/// Which releases differ: those with a behaviour from those before them, or from those after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    Begins,
    Ends,
}

/// A change of behaviour, with its source.
#[derive(Debug)]
pub(super) struct ReleaseFact {
    pub(super) effect: Effect,
    /// The releases that have the behaviour.
    pub(super) change: ReleaseChange,
    /// What the fact is about.
    pub(super) edge: Edge,
    /// The release as text, with the patch releases that have the change.
    pub(super) release: &'static str,
    /// What the release does.
    pub(super) text: &'static str,
    /// The file or the issue that shows it.
    pub(super) source: &'static str,
    /// The rules whose findings depend on it.
    pub(super) rules: &'static [&'static str],
}

impl ReleaseFact {
    /// Returns the text of the cause.
    pub(super) fn sentence(&self) -> String {
        format!(
            "since Istio {}, {} ({})",
            self.release, self.text, self.source
        )
    }

    /// Returns whether only the newer of two releases has the behaviour, or only the older one if the fact is its end. The
    /// newest patch level is assumed if none is known.
    pub(super) fn separates(&self, older: Version, newer: Version) -> bool {
        let is_in = |release| self.change.is_in(Some(release));
        match self.edge {
            Edge::Begins => !is_in(older) && is_in(newer),
            Edge::Ends => is_in(older) && !is_in(newer),
        }
    }

    /// Returns whether the patch level of one release decides, and that of the other does not.
    pub(super) fn settles(&self, older: Version, newer: Version) -> bool {
        let depends = |release| self.change.depends_on_patch(Some(release));
        match self.edge {
            Edge::Begins => depends(older) && !depends(newer) && self.change.is_in(Some(newer)),
            Edge::Ends => false,
        }
    }

    /// Returns the patch level with which the behaviour of a minor release changes, if the patch level of the release is
    /// not known.
    pub(super) fn open_patch(&self, release: Version) -> Option<u16> {
        let patch = match self.edge {
            Edge::Begins => self.change.first_patch(release),
            Edge::Ends => self.change.lost_patch(release),
        };
        patch.filter(|_| release.patch().is_none())
    }
}

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
