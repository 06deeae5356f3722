//! The parts of a pod that a rewrite depends on or writes.

use std::collections::BTreeMap;

use meshprobe_mesh::kube::{ContainerList, Probe, ProbeHandler, Slot, Workload};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::{
    ProberEnvPlace, UnreadableProberEnv, proxy_container, written_prober_env,
};
use meshprobe_predict::predict::{port_of, predicted_handlers, unrecorded_field};

use crate::rewrite::undo::carrier::carriers;

/// A fingerprint of a pod: pods with equal fingerprints are rewritten and undone in the same way.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PodFingerprint {
    handlers: Vec<HandlerFingerprint>,
    /// The values of the annotations in [`SETTINGS`].
    annotations: Vec<Option<String>>,
    place: Option<ProberEnvPlace>,
    probers: Option<Result<BTreeMap<String, String>, UnreadableProberEnv>>,
    /// The number of prober envs.
    carriers: usize,
    /// The list that contains the sidecar in the manifest, and its image.
    proxy: Option<(ContainerList, Option<String>)>,
}

/// The parts of a handler that a rewrite depends on.
#[derive(Debug, PartialEq, Eq)]
struct HandlerFingerprint {
    container: String,
    slot: Slot,
    /// `None` if it cannot be read.
    action: Option<ProbeHandler>,
    /// The keys of all actions in the manifest: the API server rejects more than one.
    kinds: Vec<String>,
    /// A field that the prober env cannot record.
    unrecorded: Option<String>,
    timeout_seconds: Option<i64>,
    /// The number that its port resolves to.
    port: Option<i64>,
}

/// Annotations of a pod that control how its probes are rewritten.
const SETTINGS: [&str; 4] = [
    keys::REWRITE_PROBERS,
    keys::PROXY_CONFIG,
    keys::STATUS_PORT,
    keys::TEMPLATES,
];

impl PodFingerprint {
    pub(super) fn of(workload: &Workload<'_>) -> Self {
        let handlers = predicted_handlers(workload)
            .into_iter()
            .map(|(container, handler)| HandlerFingerprint {
                container: container.name().to_owned(),
                slot: handler.slot,
                port: port_of(workload, &container, &handler),
                timeout_seconds: handler.timeout_seconds,
                kinds: kinds(&handler),
                unrecorded: unrecorded_field(&handler),
                action: handler.action.ok(),
            });
        let annotation = |key: &&str| {
            let entry = workload.template.annotation(key)?;
            entry.value.text().map(str::to_owned)
        };
        let env = written_prober_env(workload);
        Self {
            handlers: handlers.collect(),
            annotations: SETTINGS.iter().map(annotation).collect(),
            place: env.as_ref().map(|env| env.place.clone()),
            probers: env.map(|env| env.probers),
            carriers: carriers(workload),
            proxy: proxy_container(workload).map(|proxy| {
                let image = proxy.image().map(str::to_owned);
                (proxy.list, image)
            }),
        }
    }

    /// Describes the first handler that has several actions here but not in `base`: a merge patch adds an action and
    /// keeps the action of the base.
    pub(super) fn added_action(&self, base: &Self) -> Option<String> {
        let has_several = |handler: &&HandlerFingerprint| {
            handler.kinds.len() > 1 && !base.handlers.contains(handler)
        };
        let found = self.handlers.iter().find(has_several)?;
        Some(format!(
            "gives {} of container `{}` several handlers ({}), which the API server rejects",
            found.slot.key(),
            found.container,
            found.kinds.join(", ")
        ))
    }
}

/// Returns the keys of the handler's actions, sorted.
fn kinds(handler: &Probe<'_>) -> Vec<String> {
    let mut kinds: Vec<String> = handler
        .kinds()
        .filter_map(|key| key.text().map(str::to_owned))
        .collect();
    kinds.sort_unstable();
    kinds
}
