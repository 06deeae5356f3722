//! A prober env that is there already: can it be read, and does it go with what is written?

use crate::context::{ProberEnvPlace, proxy_container};
use crate::kube::Action;
use crate::mesh::istio::rewrite::{HOOKS, is_agent_path, is_hook_path};
use crate::mesh::istio::{keys, prober_json};
use crate::predict::{HandlerPrediction, WorkloadPrediction};
use crate::yaml::NodeRef;

use super::{Refusal, name_span};

/// It must be readable.
pub(in crate::rewrite) fn unreadable_env(pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    let env = pod.prober_env.as_ref()?;
    let error = env.probers.as_ref().err()?;
    let said = format!("its {} can't be read: {error}", keys::PROBERS_ENV);
    Some(Refusal::new("prober-env-invalid", env.span, said))
}

/// The agent must be able to start on every entry.
pub(in crate::rewrite) fn deadly_entry(pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    let env = pod.prober_env.as_ref()?;
    let probers = env.probers.as_ref().ok()?;
    let mut faults = probers.iter().filter_map(|(path, json)| {
        let why = prober_json::refused(path, json)?;
        Some(format!("its entry `{path}` {why}"))
    });
    let fault = faults.next().or_else(|| {
        let release = pod.release.value.filter(|&release| release < HOOKS)?;
        let path = probers.keys().find(|path| is_hook_path(path))?;
        Some(format!(
            "its entry `{path}` is unknown to agents of {release}"
        ))
    })?;
    let said = format!(
        "the agent does not start on the {} of the pod: {fault}",
        keys::PROBERS_ENV
    );
    Some(Refusal::new("prober-env-invalid", env.span, said))
}

/// A probe that points at the agent must find its entry.
pub(in crate::rewrite) fn lost_entry(
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
) -> Option<Refusal> {
    let path = agent_path(prediction)?;
    let probers = pod
        .prober_env
        .as_ref()
        .and_then(|env| env.probers.as_ref().ok());
    if probers.is_some_and(|probers| probers.contains_key(path)) {
        return None;
    }
    let said = format!(
        "{} asks the agent, but no prober env has {path}",
        prediction.title()
    );
    let span = prediction.handler.field_span("path");
    Some(Refusal::new("rewritten-without-entry", span, said))
}

fn agent_path<'a>(prediction: &'a HandlerPrediction<'_>) -> Option<&'a str> {
    match &prediction.handler.action {
        Ok(Action::HttpGet(http)) if is_agent_path(&http.path) => Some(&http.path),
        _ => None,
    }
}

/// It must be there once, and be one that is extended on purpose: beside the opt-out, in an
/// injected pod, or the work of an earlier rewrite, every entry of which has its probe.
pub(super) fn conflict(pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    let env = pod.prober_env.as_ref()?;
    let count = proxy_container(&pod.workload).map_or(0, |proxy| {
        let items = proxy.node.get("env").into_iter().flat_map(NodeRef::items);
        let named = items
            .filter(|item| item.get("name").and_then(NodeRef::text) == Some(keys::PROBERS_ENV));
        named.count()
    });
    if count > 1 {
        let said = format!("its {} is there {count} times", keys::PROBERS_ENV);
        return Some(Refusal::new("prober-env-conflict", env.span, said));
    }
    let injected = pod.workload.template.annotation(keys::STATUS).is_some();
    let paths: Vec<&str> = pod.handlers.iter().filter_map(agent_path).collect();
    let probers = env.probers.as_ref().ok()?;
    let stray = probers.keys().find(|key| !paths.contains(&key.as_str()))?;
    if injected || !pod.rewrite.value {
        return None;
    }
    let said = format!(
        "its {} has {stray}, which no probe asks for, and not all probes",
        keys::PROBERS_ENV
    );
    Some(Refusal::new("prober-env-conflict", env.span, said))
}

/// Two places would carry an env: the sidecar container's own would be lost or doubled.
pub(super) fn two_carriers(pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    let env = pod.prober_env.as_ref()?;
    let is_double =
        env.place == ProberEnvPlace::ProxyMetadata && proxy_container(&pod.workload).is_some();
    is_double.then(|| {
        let said = "its prober env stands in the annotation while it has an istio-proxy container";
        Refusal::new("prober-env-conflict", name_span(pod), said)
    })
}
