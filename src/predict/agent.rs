//! Handlers that the agent in the sidecar answers for.

use crate::context::Context;
use crate::kube::{Action, Port, Slot};
use crate::mesh::Fact;
use crate::mesh::istio::keys::{self, DEFAULT_STATUS_PORT};
use crate::mesh::istio::mtls::MtlsMode;
use crate::mesh::istio::rewrite::{agent_path, is_agent_path};

use super::hazard::path_fault;
use super::verdict::{Weighing, resolve};
use super::{Cause, HandlerPrediction, Outcome, Verdict, WorkloadPrediction, is_supported};

/// The manifest points at the agent already.
pub(super) fn rewritten_ahead<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
    action: &Action,
    mut weighing: Weighing,
) -> Verdict {
    let (Action::HttpGet(http), Some(port)) = (action, handler.port) else {
        return weighing.verdict(Outcome::Unknown, Cause::MeshUnknown);
    };
    weighing.rests_on(&pod.rewrite);
    // Where the rewrite is in force the injector writes path and port anew.
    let path = if handler.rewritten {
        agent_path(handler.container.name(), handler.handler.slot)
    } else {
        http.path.clone()
    };
    let probers = pod
        .prober_env
        .as_ref()
        .and_then(|env| env.probers.as_ref().ok());
    if !probers.is_some_and(|probers| probers.contains_key(&path)) {
        return weighing.verdict(Outcome::Fails, Cause::RewrittenWithoutEntry);
    }
    let expires = pod
        .prober_env
        .as_ref()
        .is_some_and(|env| env.expires_at_once(&path));
    if handler.rewritten {
        if let Some(cause) = reinjected(context, pod, port) {
            return weighing.verdict(Outcome::Fails, cause);
        }
        if expires {
            return weighing.verdict(Outcome::Fails, Cause::AgentTimeoutZero);
        }
        return at_agent(context, pod, handler, weighing);
    }
    if http.host.is_some() {
        return weighing.verdict(Outcome::Fails, Cause::HostKept);
    }
    if http.scheme == "HTTPS" {
        return weighing.verdict(Outcome::Fails, Cause::HttpsAtAgent);
    }
    if port != pod.agent_port.value {
        weighing.rests_on(&pod.agent_port);
        return weighing.verdict(Outcome::Fails, Cause::RewrittenOtherPort);
    }
    if expires {
        return weighing.verdict(Outcome::Fails, Cause::AgentTimeoutZero);
    }
    let captured = context.capture(&pod.workload, port);
    reached(context, pod, handler, (port, captured), weighing)
}

/// What a second injection does to a pod that was rewritten ahead and did not switch the rewrite
/// off. Without the injector's own annotation it appends a second env, which wins, as soon as it
/// records anything: a handler that is left, or a probe at a port that it does not know for the
/// agent's.
fn reinjected<'t>(context: &Context<'t>, pod: &WorkloadPrediction<'t>, port: i64) -> Option<Cause> {
    let template = &pod.workload.template;
    if template.annotation(keys::STATUS).is_some() {
        return None;
    }
    let mesh_port = context.mesh_status_port(&pod.workload).value;
    if port == pod.status_port.value && port != mesh_port {
        return Some(Cause::AgentCallsItself);
    }
    let containers = template.containers();
    let applications = containers
        .iter()
        .filter(|c| c.name() != keys::PROXY_CONTAINER);
    let mut left = applications.flat_map(|container| {
        container
            .handlers()
            .into_iter()
            .map(move |handler| (container, handler))
    });
    let records = left.any(|(container, handler)| {
        let Ok(action) = &handler.action else {
            return false;
        };
        let Some(written) = action.port() else {
            return false;
        };
        let number = resolve(&written, container, &pod.workload).ok();
        let points_at_agent = matches!(action, Action::HttpGet(http) if is_agent_path(&http.path));
        number.is_some_and(|number| number != mesh_port)
            && !points_at_agent
            && is_supported(context, pod, container, &handler)
    });
    records.then_some(Cause::RewrittenWithoutEntry)
}

/// The kubelet asks the status port: is the agent there, and can it be reached?
///
/// Three settings decide about the three ports (target, agent, left alone by the redirect); where
/// they disagree every rewritten probe of the pod fails.
fn at_agent<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
    mut weighing: Weighing,
) -> Verdict {
    let target = pod.status_port.value;
    if !(1..=65535).contains(&target) {
        weighing.rests_on(&pod.status_port);
        return weighing.verdict(Outcome::Fails, Cause::StatusPortZero);
    }
    let captured = pod.status_port_captured.clone();
    let captured = captured.unwrap_or_else(|| context.capture(&pod.workload, target));
    if pod.agent_port.value == target {
        return reached(context, pod, handler, (target, captured), weighing);
    }
    weighing.rests_on(&pod.status_port);
    weighing.rests_on(&pod.agent_port);
    weighing.verdict(Outcome::Fails, Cause::StatusPortMismatch)
}

/// The agent listens on `port`: the redirect must leave it alone, or let plain text in.
fn reached<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
    (port, captured): (i64, Fact<bool>),
    mut weighing: Weighing,
) -> Verdict {
    if handler.handler.slot == Slot::Startup && handler.container.is_native_sidecar() {
        // The kubelet starts nothing behind an init container before its startup probe passes.
        let native = context.sidecar_is_native(&pod.workload);
        if !native.value {
            weighing.rests_on(&native);
            return weighing.verdict(Outcome::Fails, Cause::BeforeSidecar);
        }
    }
    if captured.value {
        let mtls = context.mtls(&pod.workload, port);
        if mtls.value == MtlsMode::Strict {
            weighing.rests_on(&pod.agent_port);
            weighing.rests_on(&context.excluded_port(&pod.workload));
            if port == i64::from(DEFAULT_STATUS_PORT) {
                // The CNI plugin would leave it alone.
                weighing.rests_on(&context.cni(&pod.workload));
            }
            weighing.rests_on(&captured);
            weighing.rests_on(&mtls);
            return weighing.verdict(Outcome::Fails, Cause::StatusPortCaptured);
        }
    }
    weighing.verdict(Outcome::Ok, Cause::Rewritten)
}

/// The injector points the handler at the agent.
pub(super) fn rewritten<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
    action: &Action,
    resolved: Result<i64, Cause>,
    mut weighing: Weighing,
) -> Verdict {
    weighing.rests_on(&pod.rewrite);
    let Ok(port) = resolved else {
        return weighing.verdict(Outcome::Fails, Cause::PortQuoted);
    };
    if port == context.mesh_status_port(&pod.workload).value {
        let by_name = matches!(action.port(), Some(Port::Name(_)));
        let connects = by_name && matches!(action, Action::TcpSocket { .. });
        let outcome = if connects {
            // A name is recorded: the agent connects to itself.
            Outcome::AlwaysPasses
        } else {
            Outcome::Fails
        };
        return weighing.verdict(outcome, Cause::PortOfAgent);
    }
    match action {
        Action::HttpGet(http) if http.host.is_some() => {
            weighing.verdict(Outcome::Fails, Cause::HostKept)
        }
        Action::TcpSocket { host: Some(_), .. } => {
            weighing.verdict(Outcome::TargetChanged, Cause::HostDropped)
        }
        Action::HttpGet(http) if path_fault(&http.path).is_some() => {
            weighing.verdict(Outcome::Fails, Cause::PathMisread)
        }
        _ => at_agent(context, pod, handler, weighing),
    }
}
