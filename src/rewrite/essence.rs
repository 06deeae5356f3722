//! What of a pod a rewrite rests on, and what it writes.

use std::collections::BTreeMap;

use crate::context::{ProberEnvPlace, Unread, proxy_container, written_prober_env};
use crate::kube::{Action, ContainerList, Handler, Slot, Workload};
use crate::mesh::istio::keys;
use crate::predict::{judged_handlers, port_of, unrecorded_field};

use super::undo::carriers;

/// Two pods of which this is the same are rewritten alike, and undone alike.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Essence {
    handlers: Vec<Told>,
    /// Those that say how probes are rewritten.
    annotations: Vec<Option<String>>,
    place: Option<ProberEnvPlace>,
    probers: Option<Result<BTreeMap<String, String>, Unread>>,
    /// How many envs there are.
    carriers: usize,
    /// Where the manifest holds a sidecar, and its image.
    proxy: Option<(ContainerList, Option<String>)>,
}

/// A handler.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    container: String,
    slot: Slot,
    /// `None` where it can't be read.
    action: Option<Action>,
    /// The keys of all actions that are written: the API server rejects more than one.
    kinds: Vec<String>,
    /// A field that the prober env cannot record.
    unrecorded: Option<String>,
    timeout_seconds: Option<i64>,
    /// What its port resolves to.
    port: Option<i64>,
}

/// Annotations of a pod that say how its probes are rewritten.
const SETTINGS: [&str; 4] = [
    keys::REWRITE_PROBERS,
    keys::PROXY_CONFIG,
    keys::STATUS_PORT,
    keys::TEMPLATES,
];

impl Essence {
    pub(super) fn of(workload: &Workload<'_>) -> Self {
        let handlers = judged_handlers(workload).into_iter();
        let handlers = handlers.map(|(container, handler)| Told {
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

    /// Describes the first handler that has several actions here and not in `base`: a merge adds an action and
    /// keeps that of the base.
    pub(super) fn added_action(&self, base: &Self) -> Option<String> {
        let has_several = |one: &&Told| one.kinds.len() > 1 && !base.handlers.contains(one);
        let found = self.handlers.iter().find(has_several)?;
        Some(format!(
            "gives {} of container `{}` several handlers ({}), which the API server rejects",
            found.slot.key(),
            found.container,
            found.kinds.join(", ")
        ))
    }
}

fn kinds(handler: &Handler<'_>) -> Vec<String> {
    let keys = handler.kinds();
    let mut kinds: Vec<String> = keys
        .filter_map(|key| key.text().map(str::to_owned))
        .collect();
    kinds.sort_unstable();
    kinds
}
