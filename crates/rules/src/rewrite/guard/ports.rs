//! Guards of ports: the injector and the agent must use the same port.

use meshprobe_mesh::finding::GuardId;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::proxy_config::{ProxyConfig, Unreadable};
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rewrite::guard::failure::GuardFailure;

pub(super) fn status_port(pod: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
    let entry = pod.workload.template.annotation(keys::STATUS_PORT)?;
    let text = entry.value.text().unwrap_or_default();
    // The validator trims the value before it parses an unsigned number; the injector does not trim.
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && text.parse::<u16>().is_ok_and(|port| port != 0) {
        return None;
    }
    let message = format!("`{}: \"{text}\"` is not a port", keys::STATUS_PORT);
    Some(GuardFailure::new(
        GuardId::STATUS_PORT_INVALID,
        entry.value.span(),
        message,
    ))
}

pub(super) fn proxy_config(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
) -> Option<GuardFailure> {
    let template = &pod.workload.template;
    let entry = template.annotation(keys::PROXY_CONFIG)?;
    let span = entry.key.span();
    if entry.value.text().is_none() {
        let message = format!(
            "`{}` is not a string, but annotations must be strings",
            keys::PROXY_CONFIG
        );
        return Some(GuardFailure::new(
            GuardId::PROXY_CONFIG_INVALID,
            span,
            message,
        ));
    }
    let config = match ProxyConfig::parse(entry.value.text().unwrap_or_default()) {
        Ok(config) => config,
        Err(error) => {
            let message = match error {
                Unreadable::Refused(_) => {
                    format!("the injector refuses `{}`: {error}", keys::PROXY_CONFIG)
                }
                Unreadable::Differs { .. } => {
                    format!("`{}` is ambiguous: {error}", keys::PROXY_CONFIG)
                }
            };
            return Some(GuardFailure::new(
                GuardId::PROXY_CONFIG_INVALID,
                span,
                message,
            ));
        }
    };
    if let Some(fault) = config.fault(pod.release.value) {
        let message = format!(
            "the injector refuses `{}`: {}",
            keys::PROXY_CONFIG,
            fault.message
        );
        return Some(GuardFailure::new(
            GuardId::PROXY_CONFIG_INVALID,
            span,
            message,
        ));
    }
    let port = config.status_port()?;
    let mesh_port = context.istio(&pod.workload).ports().mesh_status().value;
    if template.annotation(keys::STATUS_PORT).is_some() || port == mesh_port {
        return None;
    }
    let message = format!(
        "`{}` moves the agent to port {port}, but the injector points probes at {mesh_port}",
        keys::PROXY_CONFIG,
    );
    let help = format!(
        "use the annotation `{}`, which both honour",
        keys::STATUS_PORT
    );
    Some(GuardFailure::new(GuardId::STATUS_PORT_MISMATCH, span, message).with_help(help))
}
