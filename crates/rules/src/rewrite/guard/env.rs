//! Guards of an existing prober env: it must be readable and compatible with the rewrite.

use meshprobe_mesh::finding::GuardId;
use meshprobe_mesh::kube::ProbeHandler;
use meshprobe_mesh::mesh::istio::rewrite::{HOOKS, is_agent_path, is_hook_path};
use meshprobe_mesh::mesh::istio::{keys, prober_json};
use meshprobe_predict::context::{ProberEnvPlace, proxy_container};
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::NodeRef;

use crate::rewrite::guard::failure::{GuardFailure, name_span};

/// Refuses a prober env that cannot be read.
pub(in crate::rewrite) fn unreadable_env(pod: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
    let env = pod.prober_env.as_ref()?;
    let error = env.probers.as_ref().err()?;
    let message = format!("its `{}` cannot be read: {error}", keys::PROBERS_ENV);
    Some(GuardFailure::new(
        GuardId::PROBER_ENV_INVALID,
        env.span,
        message,
    ))
}

/// Refuses a prober env with an entry that prevents the agent from starting.
pub(in crate::rewrite) fn fatal_entry(pod: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
    let env = pod.prober_env.as_ref()?;
    let probers = env.probers.as_ref().ok()?;
    let fault = probers
        .iter()
        .find_map(|(path, json)| {
            let fault = prober_json::rejection_reason(path, json)?;
            Some(format!("its entry `{path}` {fault}"))
        })
        .or_else(|| {
            let release = pod.release.value.filter(|&release| release < HOOKS)?;
            let path = probers.keys().find(|path| is_hook_path(path))?;
            Some(format!(
                "its entry `{path}` is unknown to agents of {release}"
            ))
        })?;
    let message = format!(
        "the agent does not start with the `{}` of the pod: {fault}",
        keys::PROBERS_ENV
    );
    Some(GuardFailure::new(
        GuardId::PROBER_ENV_INVALID,
        env.span,
        message,
    ))
}

/// Refuses a probe that targets the agent without an entry in the prober env.
pub(in crate::rewrite) fn missing_entry(
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
) -> Option<GuardFailure> {
    let path = agent_path(prediction)?;
    let probers = pod
        .prober_env
        .as_ref()
        .and_then(|env| env.probers.as_ref().ok());
    if probers.is_some_and(|probers| probers.contains_key(path)) {
        return None;
    }
    let message = format!(
        "{} targets the agent, but the pod has no prober env with the entry `{path}`",
        prediction.title()
    );
    let span = prediction.handler.field_span("path");
    Some(GuardFailure::new(
        GuardId::REWRITTEN_WITHOUT_ENTRY,
        span,
        message,
    ))
}

fn agent_path<'a>(prediction: &'a HandlerPrediction<'_>) -> Option<&'a str> {
    match &prediction.handler.action {
        Ok(ProbeHandler::HttpGet(http)) if is_agent_path(&http.path) => Some(&http.path),
        _ => None,
    }
}

/// Refuses a prober env that is set several times, or that a rewrite must not extend. It may extend the env of a pod
/// that opts out or is injected, and the env of an earlier rewrite, in which each entry belongs to a probe.
pub(super) fn conflict(pod: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
    let env = pod.prober_env.as_ref()?;
    let count = proxy_container(&pod.workload).map_or(0, |proxy| {
        let named = proxy
            .node
            .get("env")
            .into_iter()
            .flat_map(NodeRef::items)
            .filter(|item| item.get("name").and_then(NodeRef::text) == Some(keys::PROBERS_ENV));
        named.count()
    });
    if count > 1 {
        let message = format!("its `{}` is set {count} times", keys::PROBERS_ENV);
        return Some(GuardFailure::new(
            GuardId::PROBER_ENV_CONFLICT,
            env.span,
            message,
        ));
    }
    let is_injected = pod.workload.template.annotation(keys::STATUS).is_some();
    let paths: Vec<&str> = pod.handlers.iter().filter_map(agent_path).collect();
    let probers = env.probers.as_ref().ok()?;
    let stray = probers.keys().find(|key| !paths.contains(&key.as_str()))?;
    if is_injected || !pod.rewrite.value {
        return None;
    }
    let message = format!(
        "its `{}` contains `{stray}`, which no probe targets, and does not contain all probes",
        keys::PROBERS_ENV
    );
    Some(GuardFailure::new(
        GuardId::PROBER_ENV_CONFLICT,
        env.span,
        message,
    ))
}

/// Refuses a pod with two possible carriers: the env of the sidecar container would be lost or doubled.
pub(super) fn conflicting_carriers(pod: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
    let env = pod.prober_env.as_ref()?;
    let is_double =
        env.place == ProberEnvPlace::ProxyMetadata && proxy_container(&pod.workload).is_some();
    is_double.then(|| {
        let message =
            "its prober env is in the annotation, but it also has an `istio-proxy` container";
        GuardFailure::new(GuardId::PROBER_ENV_CONFLICT, name_span(pod), message)
    })
}
