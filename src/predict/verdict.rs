//! The decision: facts and handler in, outcome with its reasons out.

use crate::context::{Context, Dataplane, Source};
use crate::finding::Certainty;
use crate::kube::{
    Action, Container, ContainerPort, ExecKind, Port, Unreadable, Workload, exec_calls,
    refused_by_api,
};
use crate::mesh::istio::keys::HOST_PROBE_SNAT;
use crate::mesh::istio::mtls::MtlsMode;
use crate::mesh::istio::protocol::Protocol;
use crate::mesh::istio::rewrite::is_agent_path;
use crate::mesh::{Fact, Reason};

use super::agent::{rewritten, rewritten_ahead};
use super::chain::at_chain;
use super::{
    Cause, EnvRefusal, Gap, HandlerPrediction, Outcome, Verdict, WorkloadPrediction, kubelet,
};

/// Returns the placeholder that stands until the verdict is known.
pub(super) const fn pending() -> Verdict {
    Verdict {
        outcome: Outcome::Unknown,
        cause: Cause::MeshUnknown,
        certainty: Certainty::Unknown,
        because: Vec::new(),
        kubelet: None,
    }
}

/// Judges what cannot be read, and what the API server refuses.
pub(super) fn unreadable(handler: &HandlerPrediction<'_>) -> Option<(Outcome, Cause)> {
    match &handler.handler.action {
        Err(Unreadable::Placeholder(_)) => Some((Outcome::Unknown, Cause::Placeholder)),
        Err(Unreadable::Malformed(_)) => Some((Outcome::BrokenWithoutMesh, Cause::Malformed)),
        Ok(_) => refused_by_api(&handler.container, &handler.handler)
            .map(|_| (Outcome::BrokenWithoutMesh, Cause::Malformed)),
    }
}

/// Resolves a port to its number as the injector and the kubelet do: in the container's own
/// `ports`, any protocol, exact case, the last of duplicates.
pub(super) fn resolve(
    port: &Port,
    container: &Container<'_>,
    workload: &Workload<'_>,
) -> Result<i64, Cause> {
    let name = match port {
        Port::Number(number) => return Ok(*number),
        Port::Name(name) => name,
    };
    if let Some(port) = declaration(container, name) {
        // A declaration without a number is one that another tool fills in, or a fault of its own.
        return port.number.ok_or(Cause::Placeholder);
    }
    if name.parse::<i64>().is_ok() {
        return Err(Cause::PortQuoted);
    }
    if workload.template.index().declares_port(name) {
        return Err(Cause::PortOfOtherContainer);
    }
    Err(Cause::PortUnresolved)
}

/// The last declaration of a port name in a container.
fn declaration<'t>(container: &Container<'t>, name: &str) -> Option<ContainerPort<'t>> {
    container
        .ports()
        .filter(|port| port.name == Some(name))
        .last()
}

/// Builds a verdict while facts are consulted.
#[derive(Clone)]
pub(super) struct Weighing {
    certainty: Certainty,
    because: Vec<Reason>,
}

impl Weighing {
    const fn new() -> Self {
        Self {
            certainty: Certainty::Known,
            because: Vec::new(),
        }
    }

    /// The verdict rests on this fact.
    pub(super) fn rests_on<T>(&mut self, fact: &Fact<T>) {
        self.certainty = self.certainty.min(fact.certainty);
        for reason in &fact.because {
            if !self.because.contains(reason) {
                self.because.push(reason.clone());
            }
        }
    }

    pub(super) fn verdict(self, outcome: Outcome, cause: Cause) -> Verdict {
        let Self { certainty, because } = self;
        Verdict {
            outcome,
            cause,
            certainty,
            because,
            kubelet: None,
        }
    }
}

/// Decides about one handler.
pub(super) fn of<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Verdict {
    let weighing = Weighing::new();
    if let Some((outcome, cause)) = unreadable(handler) {
        return weighing.verdict(outcome, cause);
    }
    let Ok(action) = &handler.handler.action else {
        return pending();
    };
    if handler.handler.slot.is_lifecycle()
        && matches!(action, Action::TcpSocket { .. })
        && !handler.rewritten
    {
        // Source: the API reference of LifecycleHandler. Rewritten it becomes an httpGet.
        return weighing.verdict(Outcome::BrokenWithoutMesh, Cause::HookUnsupported);
    }
    let Some(port) = action.port() else {
        return within(context, pod, handler, weighing);
    };
    if let Port::Name(name) = &port
        && crate::source::placeholder::contains(name)
    {
        return weighing.verdict(Outcome::Unknown, Cause::Placeholder);
    }
    let mut verdict = match resolve(&port, &handler.container, &pod.workload) {
        Err(cause @ (Cause::PortUnresolved | Cause::PortOfOtherContainer)) => {
            weighing.verdict(Outcome::BrokenWithoutMesh, cause)
        }
        Err(Cause::Placeholder) => weighing.verdict(Outcome::Unknown, Cause::Placeholder),
        resolved => {
            let mut verdict = in_mesh(context, pod, handler, action, resolved, weighing);
            // That the pod is in the mesh is said last: it decides, but seldom surprises.
            verdict.certainty = verdict.certainty.min(pod.dataplane.certainty);
            verdict
                .because
                .extend(pod.dataplane.because.iter().cloned());
            verdict
        }
    };
    verdict.kubelet = kubelet::text(&verdict, pod, handler, action, &port);
    verdict
}

/// Nothing is asked of the pod from outside. A command that only opens connections to a Service
/// always succeeds: the sidecar accepts them before it calls anybody. Measured in every mode.
fn within<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
    mut weighing: Weighing,
) -> Verdict {
    let calls = exec_calls(&handler.handler);
    let services: Option<Vec<_>> = calls
        .iter()
        .map(|call| {
            let port = call.port.filter(|_| call.kind == ExecKind::Connect)?;
            context.service_behind_sidecar(&pod.workload, &call.host, port)
        })
        .collect();
    match services {
        Some(services) if !services.is_empty() && pod.dataplane.value == Dataplane::Sidecar => {
            for place in services {
                weighing.rests_on(&Fact::known((), place));
            }
            weighing.rests_on(&pod.dataplane);
            weighing.verdict(Outcome::AlwaysPasses, Cause::OutboundAccepted)
        }
        _ => weighing.verdict(Outcome::Ok, Cause::NoNetwork),
    }
}

fn in_mesh<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
    action: &Action,
    resolved: Result<i64, Cause>,
    weighing: Weighing,
) -> Verdict {
    let points_at_agent = matches!(action, Action::HttpGet(http) if is_agent_path(&http.path));
    match pod.dataplane.value {
        Dataplane::Unknown => weighing.verdict(Outcome::Unknown, Cause::MeshUnknown),
        Dataplane::None | Dataplane::Ambient if points_at_agent => {
            weighing.verdict(Outcome::Fails, Cause::RewrittenWithoutSidecar)
        }
        Dataplane::None => weighing.verdict(Outcome::NotInMesh, Cause::NoMesh),
        Dataplane::Sidecar | Dataplane::Uncaptured if let Some(refused) = &pod.refused => {
            let mut weighing = weighing;
            weighing.rests_on(refused);
            weighing.verdict(Outcome::NotInMesh, Cause::PodRefused)
        }
        Dataplane::Sidecar if pod.rewrite.certainty == Certainty::Unknown => {
            weighing.verdict(Outcome::Unknown, Cause::Placeholder)
        }
        Dataplane::Ambient => ambient(context, pod, resolved, weighing),
        Dataplane::Sidecar | Dataplane::Uncaptured
            if let Some(denied) = denied(context, pod, handler) =>
        {
            let mut weighing = weighing;
            weighing.rests_on(&denied);
            weighing.verdict(Outcome::Fails, Cause::NetworkPolicyDenies)
        }
        Dataplane::Sidecar | Dataplane::Uncaptured
            if pod.env_refusal.is_some() && (points_at_agent || handler.rewritten) =>
        {
            without_agent(pod, weighing)
        }
        Dataplane::Sidecar | Dataplane::Uncaptured if points_at_agent => {
            rewritten_ahead(context, pod, handler, action, weighing)
        }
        Dataplane::Sidecar | Dataplane::Uncaptured if handler.rewritten => {
            rewritten(context, pod, handler, action, resolved, weighing)
        }
        Dataplane::Uncaptured => weighing.verdict(Outcome::Ok, Cause::NotCaptured),
        Dataplane::Sidecar => {
            let verdict = unrewritten(context, pod, handler, action, weighing);
            // The proxy starts with the agent: until then nobody takes what is redirected.
            if pod.env_refusal.is_some() && verdict.cause == Cause::Fine {
                without_agent(pod, Weighing::new())
            } else {
                verdict
            }
        }
        // Its own model judges it.
        Dataplane::Other => weighing.verdict(Outcome::Unknown, Cause::MeshUnknown),
    }
}

/// The agent does not start, and the proxy with it.
fn without_agent(pod: &WorkloadPrediction<'_>, mut weighing: Weighing) -> Verdict {
    if let Some(EnvRefusal::Hook { .. }) = pod.env_refusal {
        weighing.rests_on(&pod.release);
    }
    weighing.verdict(Outcome::Fails, Cause::AgentRefusesEnv)
}

/// Most plugins let the node's own packets pass every NetworkPolicy; where an option says that this
/// one does not, the port that the kubelet asks must be admitted.
fn denied<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<Fact<bool>> {
    let given = context.given(&pod.workload.object);
    let enforced = given.overrides.cni_enforces_node_traffic;
    if !enforced.or(given.assume.cni_enforces_node_traffic)? {
        return None;
    }
    let asked = handler
        .becomes
        .as_ref()
        .map(|becomes| becomes.port)
        .or(handler.port)?;
    let admitted = context.admits(&pod.workload, Source::Node, asked);
    let said = "the CNI plugin enforces NetworkPolicies on the node's own packets";
    (!admitted.value).then(|| admitted.resting_on(&Fact::assumed((), said, None)))
}

/// In ambient mode the plugin gives the kubelet's packets an address of their own, by which ztunnel
/// leaves them alone; only a NetworkPolicy can stop them.
fn ambient<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    resolved: Result<i64, Cause>,
    mut weighing: Weighing,
) -> Verdict {
    let Ok(port) = resolved else {
        return weighing.verdict(Outcome::Ok, Cause::Ambient);
    };
    let admitted = context.admits(&pod.workload, Source::Address(HOST_PROBE_SNAT), port);
    if admitted.value {
        return weighing.verdict(Outcome::Ok, Cause::Ambient);
    }
    weighing.rests_on(&admitted);
    weighing.verdict(Outcome::Fails, Cause::NetworkPolicyDenies)
}

/// The kubelet's connection meets the sidecar, or passes it by.
fn unrewritten<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
    action: &Action,
    mut weighing: Weighing,
) -> Verdict {
    if handler.gap.is_some() {
        // Whatever the switch says, this release leaves such handlers alone.
        weighing.rests_on(&pod.release);
    } else if pod.is_asked {
        weighing.rests_on(&pod.rewrite);
    }
    if handler.gap == Some(Gap::TcpSwitch)
        && let Some(switch) = context.rewrites_tcp(&pod.workload)
    {
        weighing.rests_on(&switch);
    }
    if action.host().is_some() {
        return weighing.verdict(Outcome::Ok, Cause::OtherHost);
    }
    // The kubelet reads a number in quotes as a number.
    let written = action
        .port()
        .map(|port| port.to_string())
        .unwrap_or_default();
    let Some(port) = handler.port.or_else(|| written.parse().ok()) else {
        return weighing.verdict(Outcome::Unknown, Cause::MeshUnknown);
    };
    let captured = context.capture(&pod.workload, port);
    if !captured.value {
        weighing.rests_on(&captured);
        return weighing.verdict(Outcome::Ok, Cause::NotCaptured);
    }
    if let Some(filter) = context.inbound_filter(&pod.workload) {
        weighing.rests_on(&filter);
    }
    if matches!(action, Action::TcpSocket { .. }) {
        return weighing.verdict(Outcome::AlwaysPasses, Cause::SidecarAccepts);
    }
    let mtls = context.mtls(&pod.workload, port);
    weighing.rests_on(&mtls);
    if mtls.certainty == Certainty::Unknown {
        return weighing.verdict(Outcome::Unknown, Cause::Placeholder);
    }
    if mtls.value == MtlsMode::Strict {
        let https = matches!(action, Action::HttpGet(http) if http.scheme == "HTTPS");
        let cause = if https {
            Cause::HttpsAtStrict
        } else {
            Cause::PlaintextAtStrict
        };
        return weighing.verdict(Outcome::Fails, cause);
    }
    let protocols = context.protocols(&pod.workload, port);
    let mut protocols = protocols.iter().map(|(_, protocol)| protocol);
    let judge = |protocol: Option<&Fact<Protocol>>, weighing: Weighing| {
        at_chain(context, pod, (action, port), protocol, weighing)
    };
    let first = protocols.next();
    let verdict = judge(first, weighing.clone());
    let differs = |rival| {
        let rival = judge(Some(rival), weighing.clone());
        (rival.outcome, rival.cause) != (verdict.outcome, verdict.cause)
    };
    if !protocols.any(differs) {
        return verdict;
    }
    // Which of the Services is the oldest decides, and no manifest tells.
    weighing.rests_on(&context.protocol(&pod.workload, port));
    judge(first, weighing)
}
