//! Handlers that the agent in the sidecar answers for.

use crate::context::{Context, Unread};
use crate::finding::Certainty;
use crate::kube::{Action, Port, Slot};
use crate::mesh::Fact;
use crate::mesh::istio::keys::{self, DEFAULT_STATUS_PORT};
use crate::mesh::istio::mtls::MtlsMode;
use crate::mesh::istio::rewrite::agent_path;

use super::env::Reinjection;
use super::hazard::path_fault;
use super::verdict::Weighing;
use super::{Cause, HandlerPrediction, Outcome, Verdict, WorkloadPrediction};

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
    if pod.is_asked {
        weighing.rests_on(&pod.rewrite);
    }
    let env = pod.prober_env.as_ref();
    let unread = env.and_then(|env| env.probers.as_ref().err());
    if let Some(Unread::Elsewhere(_)) = unread {
        return weighing.verdict(Outcome::Unknown, Cause::Placeholder);
    }
    let has = |path: &str| {
        let probers = env.and_then(|env| env.probers.as_ref().ok());
        probers.is_some_and(|probers| probers.contains_key(path))
    };
    let expires = |path: &str| env.is_some_and(|env| env.expires_at_once(path));
    if handler.rewritten {
        // The injector writes path and port anew.
        let path = agent_path(handler.container.name(), handler.handler.slot);
        if let Some(cause) = reinjected(context, pod, port, has(&path), &mut weighing) {
            return weighing.verdict(Outcome::Fails, cause);
        }
        if expires(&path) {
            return weighing.verdict(Outcome::Fails, Cause::AgentTimeoutZero);
        }
        return at_agent(context, pod, handler, weighing);
    }
    if !has(&http.path) {
        return weighing.verdict(Outcome::Fails, Cause::RewrittenWithoutEntry);
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
    if expires(&http.path) {
        return weighing.verdict(Outcome::Fails, Cause::AgentTimeoutZero);
    }
    let captured = context.capture(&pod.workload, port);
    reached(context, pod, handler, (port, captured), weighing)
}

/// What a second injection does to a probe that was rewritten ahead, in a pod that did not switch
/// the rewrite off. A probe at the port of the mesh is taken for done; one at any other port is
/// recorded like an application's, under the URL that it asks for.
fn reinjected<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    port: i64,
    has_entry: bool,
    weighing: &mut Weighing,
) -> Option<Cause> {
    let mesh_port = context.mesh_status_port(&pod.workload);
    let is_done = port == mesh_port.value;
    match pod.reinjection {
        Reinjection::Replaced if is_done && has_entry => Some(Cause::EntryReplaced),
        Reinjection::Untouched | Reinjection::Merged if has_entry => None,
        Reinjection::Dropped if !is_done => {
            weighing.rests_on(&pod.release);
            Some(Cause::EntryDropped)
        }
        _ if is_done => Some(Cause::RewrittenWithoutEntry),
        _ => {
            weighing.rests_on(&mesh_port);
            weighing.rests_on(&pod.status_port);
            if port == pod.status_port.value {
                Some(Cause::AgentCallsItself)
            } else {
                Some(Cause::RewrittenOtherPort)
            }
        }
    }
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
    // The kubelet starts nothing behind an init container before its startup probe passes.
    let comes_first =
        handler.handler.slot == Slot::Startup && handler.container.is_native_sidecar();
    let native = comes_first.then(|| context.sidecar_is_native(&pod.workload));
    if let Some(native) = &native
        && !native.value
    {
        weighing.rests_on(native);
        return weighing.verdict(Outcome::Fails, Cause::BeforeSidecar);
    }
    if captured.value {
        let mtls = context.mtls(&pod.workload, port);
        if mtls.certainty == Certainty::Unknown {
            weighing.rests_on(&mtls);
            return weighing.verdict(Outcome::Unknown, Cause::Placeholder);
        }
        if mtls.value == MtlsMode::Strict {
            weighing.rests_on(&pod.agent_port);
            weighing.rests_on(&context.excluded_port(&pod.workload));
            if port == i64::from(DEFAULT_STATUS_PORT) {
                // The CNI plugin would leave it alone.
                weighing.rests_on(&context.cni(&pod.workload));
            }
            weighing.rests_on(&captured);
            weighing.rests_on(&mtls);
            if let Some(filter) = context.inbound_filter(&pod.workload) {
                weighing.rests_on(&filter);
            }
            return weighing.verdict(Outcome::Fails, Cause::StatusPortCaptured);
        }
    }
    if let Some(native) = &native {
        weighing.rests_on(native);
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
    let is_marked = pod.workload.template.annotation(keys::STATUS).is_some();
    if is_marked && pod.reinjection == Reinjection::Dropped {
        weighing.rests_on(&pod.release);
        return weighing.verdict(Outcome::Fails, Cause::EntryDropped);
    }
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
