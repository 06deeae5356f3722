//! Decides the verdict of a handler from the facts.

use meshprobe_mesh::finding::Certainty;
use meshprobe_mesh::kube::{ExecKind, Port, ProbeHandler, exec_calls, queue_proxy_request};
use meshprobe_mesh::mesh::istio::keys::HOST_PROBE_SNAT;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_mesh::mesh::istio::mtls::Protocol;
use meshprobe_mesh::mesh::istio::network_plugin::Delivery;
use meshprobe_mesh::mesh::istio::rewrite::is_agent_path;
use meshprobe_mesh::mesh::{Fact, ReleaseChange, Version};

use super::agent::{capture, captured_too_early, prerewritten, rewritten};
use super::filter_chain::decide_at_filter_chain;
use super::kubelet;
use crate::context::{Dataplane, PodFacts, Source, reported_by_users};
use crate::predict::cause::{Cause, Outcome};
use crate::predict::go_url::failed_request;
use crate::predict::model::resolve;
use crate::predict::prediction::{
    HandlerPrediction, ProberEnvFault, UnsupportedByRelease, Verdict, VerdictBuilder,
    WorkloadPrediction, undecided, unreadable,
};

/// Returns the verdict of one handler, with the facts that decide it.
pub(in crate::predict) fn decide<'t>(
    facts: &PodFacts<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Verdict {
    let builder = VerdictBuilder::new();
    if let Some(verdict) = unreadable(&pod.workload, handler) {
        return verdict;
    }
    let Ok(action) = &handler.handler.action else {
        return undecided();
    };
    if let Some(refused) = &pod.refused {
        let mut builder = builder;
        builder.depends_on(refused);
        builder.depends_on(&pod.dataplane);
        return builder.verdict(Outcome::Refused, Cause::PodRefused);
    }
    if handler.handler.slot.is_lifecycle()
        && matches!(action, ProbeHandler::TcpSocket { .. })
        && !handler.rewritten
    {
        // Source: the API reference of LifecycleHandler. The rewrite turns it into an httpGet, which is supported.
        return builder.verdict(Outcome::InvalidManifest, Cause::HookUnsupported);
    }
    let Some(port) = action.port() else {
        return without_network(facts, pod, handler, builder);
    };
    if let Port::Name(name) = &port
        && meshprobe_tree::source::placeholder::contains(name)
    {
        return builder.verdict(Outcome::Unknown, Cause::Placeholder);
    }
    let resolved = resolve(&port, &handler.container, &pod.workload);
    let moved = || queue_proxy_request(handler.container.revision, handler.handler.slot, action);
    let request = resolved.is_ok().then(moved).flatten();
    let action = request.as_ref().unwrap_or(action);
    let mut verdict = match resolved {
        Err(cause @ (Cause::PortUnresolved | Cause::PortOfOtherContainer)) => {
            builder.verdict(Outcome::InvalidManifest, cause)
        }
        Err(Cause::Placeholder) => builder.verdict(Outcome::Unknown, Cause::Placeholder),
        _ if request.is_none() && !handler.rewritten && has_path_without_host(action) => {
            builder.verdict(Outcome::InvalidManifest, Cause::PathWithoutHost)
        }
        resolved => {
            let resolved = match handler.port {
                Some(moved) if request.is_some() => Ok(moved),
                _ => resolved,
            };
            let mut verdict = in_mesh(facts, pod, handler, action, resolved, builder);
            // The dataplane comes last: it is one of the deciding facts, but rarely the unexpected one.
            verdict.certainty = verdict.certainty.min(pod.dataplane.certainty);
            verdict
                .because
                .extend(pod.dataplane.because.iter().cloned());
            verdict
        }
    };
    let port = action.port().unwrap_or(port);
    verdict.kubelet = kubelet::text(facts.context, &verdict, pod, handler, action, &port);
    verdict
}

/// Returns whether the kubelet cannot request the path of a handler.
pub(in crate::predict) fn has_path_without_host(action: &ProbeHandler) -> bool {
    match action {
        ProbeHandler::HttpGet(http) => failed_request(http).is_some(),
        _ => false,
    }
}

/// Returns the verdict for a handler without a port, which runs inside the pod. A command that only opens connections
/// to a Service always succeeds: the sidecar accepts them before it connects to the Service. Measured in every mutual
/// TLS mode.
fn without_network<'t>(
    facts: &PodFacts<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
    mut builder: VerdictBuilder,
) -> Verdict {
    let calls = exec_calls(&handler.handler);
    let services: Option<Vec<_>> = calls
        .iter()
        .map(|call| {
            let port = call.port.filter(|_| call.kind == ExecKind::Connect)?;
            facts
                .context
                .services(&pod.workload)
                .behind_sidecar(&call.host, port)
        })
        .collect();
    match services {
        Some(services) if !services.is_empty() && pod.dataplane.value == Dataplane::Sidecar => {
            for place in services {
                builder.depends_on(&Fact::known((), place));
            }
            builder.depends_on(&pod.dataplane);
            builder.verdict(Outcome::AlwaysPasses, Cause::OutboundAccepted)
        }
        _ => builder.verdict(Outcome::Ok, Cause::NoNetwork),
    }
}

/// Returns the verdict for a handler with a port, which depends on how the pod takes part in the mesh.
fn in_mesh<'t>(
    facts: &PodFacts<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
    action: &ProbeHandler,
    resolved: Result<i64, Cause>,
    builder: VerdictBuilder,
) -> Verdict {
    let points_at_agent =
        matches!(action, ProbeHandler::HttpGet(http) if is_agent_path(&http.path));
    match pod.dataplane.value {
        Dataplane::Unknown => builder.verdict(Outcome::Unknown, Cause::MeshUnknown),
        Dataplane::None | Dataplane::Ambient if points_at_agent => {
            builder.verdict(Outcome::Fails, Cause::RewrittenWithoutSidecar)
        }
        Dataplane::None => builder.verdict(Outcome::NotInMesh, Cause::NoMesh),
        Dataplane::Sidecar if pod.rewrite.certainty == Certainty::Unknown => {
            builder.verdict(Outcome::Unknown, Cause::Placeholder)
        }
        Dataplane::Ambient => ambient(facts, pod, action, resolved, builder),
        Dataplane::Sidecar | Dataplane::Uncaptured
            if let Some(denied) = blocking_policies(facts, pod, handler) =>
        {
            let mut builder = builder;
            builder.depends_on(&denied);
            builder.verdict(Outcome::Fails, Cause::NetworkPolicyDenies)
        }
        Dataplane::Sidecar | Dataplane::Uncaptured
            if pod.prober_env_fault.is_some() && (points_at_agent || handler.rewritten) =>
        {
            without_agent(pod, builder)
        }
        Dataplane::Sidecar | Dataplane::Uncaptured if points_at_agent => {
            prerewritten(facts, pod, handler, action, builder)
        }
        Dataplane::Sidecar | Dataplane::Uncaptured if handler.rewritten => {
            rewritten(facts, pod, handler, action, resolved, builder)
        }
        Dataplane::Uncaptured => builder.verdict(Outcome::Ok, Cause::NotCaptured),
        Dataplane::Sidecar => {
            let verdict = unrewritten(facts, pod, handler, action, builder);
            // The proxy starts with the agent: without it, captured connections are not accepted.
            if pod.prober_env_fault.is_some() && verdict.cause == Cause::Forwarded {
                without_agent(pod, VerdictBuilder::new())
            } else {
                verdict
            }
        }
        // `predict::model` predicts the pods of other meshes.
        Dataplane::Other => builder.verdict(Outcome::Unknown, Cause::MeshUnknown),
    }
}

/// Returns the verdict for a pod whose agent, and therefore its proxy, does not start.
fn without_agent(pod: &WorkloadPrediction<'_>, mut builder: VerdictBuilder) -> Verdict {
    if let Some(ProberEnvFault::Hook { .. }) = pod.prober_env_fault {
        builder.depends_on(&pod.release);
    }
    builder.verdict(Outcome::Fails, Cause::AgentRefusesEnv)
}

/// Returns a fact with the deciding NetworkPolicies if they block the kubelet, else `None`. Most CNI plugins exempt
/// packets from the pod's own node, so policies only count if an option states that this plugin enforces them.
fn blocking_policies<'t>(
    facts: &PodFacts<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<Fact<bool>> {
    let given = facts.context.user_facts(&pod.workload.object);
    let by_override = given.overrides.cni_enforces_node_traffic;
    if !by_override.or(given.assume.cni_enforces_node_traffic)? {
        return None;
    }
    let asked = handler
        .rewritten_to
        .as_ref()
        .map(|rewritten_to| rewritten_to.port)
        .or(handler.port)?;
    let admitted = facts
        .context
        .network_policies(&pod.workload)
        .admit(Source::Node, asked);
    let option = if by_override.is_some() {
        "--override"
    } else {
        "--assume"
    };
    let message =
        format!("the CNI plugin enforces NetworkPolicies on the node's own packets ({option})");
    let enforced = Fact::set_by_user((), message, by_override.is_some());
    (!admitted.value).then(|| admitted.depending_on(&enforced))
}

/// Returns the verdict for a handler that is not rewritten, in a pod with a sidecar.
fn unrewritten<'t>(
    facts: &PodFacts<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
    action: &ProbeHandler,
    mut builder: VerdictBuilder,
) -> Verdict {
    if handler.unsupported.is_some() {
        // This release does not rewrite such handlers, whatever the setting of the rewrite is.
        builder.depends_on(&pod.release);
    } else if pod.passes_injector {
        builder.depends_on(&pod.rewrite);
    }
    if handler.unsupported == Some(UnsupportedByRelease::TcpSwitch)
        && let Some(switch) = facts.rewrites_tcp()
    {
        builder.depends_on(&switch);
    }
    if action.host().is_some() {
        return builder.verdict(Outcome::Ok, Cause::OtherHost);
    }
    // The kubelet converts a quoted number that is not the name of a port.
    let written = action
        .port()
        .map(|port| port.to_string())
        .unwrap_or_default();
    let Some(port) = handler.port.or_else(|| written.parse().ok()) else {
        return builder.verdict(Outcome::Unknown, Cause::MeshUnknown);
    };
    let slot = (&handler.container, handler.handler.slot);
    let captured = capture(facts, slot, port);
    if !captured.value {
        builder.depends_on(&captured);
        return builder.verdict(Outcome::Ok, Cause::NotCaptured);
    }
    if let Some(fails) = captured_too_early(facts, slot, builder.clone()) {
        return fails;
    }
    if let Some(filter) = facts.inbound_filter() {
        builder.depends_on(&filter);
    }
    if matches!(action, ProbeHandler::TcpSocket { .. }) {
        return builder.verdict(Outcome::AlwaysPasses, Cause::SidecarAccepts);
    }
    let mtls = facts.mtls(port);
    builder.depends_on(&mtls);
    if mtls.certainty == Certainty::Unknown {
        return builder.verdict(Outcome::Unknown, Cause::Placeholder);
    }
    if mtls.value == MtlsMode::Strict {
        let https = matches!(action, ProbeHandler::HttpGet(http) if http.scheme == "HTTPS");
        let cause = if https {
            Cause::HttpsAtStrict
        } else {
            Cause::PlaintextAtStrict
        };
        return builder.verdict(Outcome::Fails, cause);
    }
    let protocols = facts.context.services(&pod.workload).protocols(port);
    let mut protocols = protocols.iter().map(|(_, protocol)| protocol);
    let judge = |protocol: Option<&Fact<Protocol>>, builder: VerdictBuilder| {
        decide_at_filter_chain(facts, (action, port), protocol, builder)
    };
    let first = protocols.next();
    let verdict = judge(first, builder.clone());
    let differs = |rival| {
        let rival = judge(Some(rival), builder.clone());
        (rival.outcome, rival.cause) != (verdict.outcome, verdict.cause)
    };
    if !protocols.any(differs) {
        return verdict;
    }
    // Istio uses the protocol of the oldest Service, and manifests do not contain the age of an object.
    builder.depends_on(&facts.context.services(&pod.workload).protocol(port));
    judge(first, builder)
}

/// The releases of Istio that handle pods with a network interface of their own. Source: istio pull request 59778.
const OWN_INTERFACE: ReleaseChange = ReleaseChange::new(Version::new(1, 30), &[(28, 7), (29, 3)]);

/// Returns the verdict for a pod in ambient mode. The CNI plugin of Istio gives the kubelet's packets a special source
/// address, which exempts them from ztunnel. A NetworkPolicy or the network plugin of the cluster can drop them.
pub(in crate::predict) fn ambient<'t>(
    facts: &PodFacts<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    action: &ProbeHandler,
    resolved: Result<i64, Cause>,
    mut builder: VerdictBuilder,
) -> Verdict {
    if let Ok(port) = resolved {
        let admitted = facts
            .context
            .network_policies(&pod.workload)
            .admit(Source::Address(HOST_PROBE_SNAT), port);
        if !admitted.value {
            // The probe fails with any network plugin: one that delivers the packets enforces the policy.
            builder.depends_on(&admitted);
            return builder.verdict(Outcome::Fails, Cause::NetworkPolicyDenies);
        }
    }
    if action.host().is_some() {
        return builder.verdict(Outcome::Ok, Cause::OtherHost);
    }
    let delivered = delivered(facts, pod);
    builder.depends_on(&delivered);
    if !delivered.value {
        return builder.verdict(Outcome::Fails, Cause::NetworkPluginDrops);
    }
    if let Some(policy) = facts
        .context
        .cluster_network(&pod.workload)
        .unmodelled_policy()
    {
        builder.depends_on(&policy);
    }
    builder.verdict(Outcome::Ok, Cause::Ambient)
}

/// Returns whether the network plugin delivers the kubelet's packets to the pod.
fn delivered<'t>(facts: &PodFacts<'_, 't>, pod: &WorkloadPrediction<'t>) -> Fact<bool> {
    let network = facts.context.cluster_network(&pod.workload);
    let plugin = network.plugin();
    let delivery = plugin
        .value
        .map_or(Delivery::Delivers, |plugin| plugin.delivery());
    match delivery {
        Delivery::Delivers => plugin.map(|_| true),
        Delivery::Drops(_) => plugin.map(|_| false),
        Delivery::DropsByReports(_) => plugin.map(|_| false).depending_on(&reported_by_users()),
        Delivery::DropsIfSecurityGroup(_) => {
            let selected = network.security_group();
            if !selected.value {
                return plugin.map(|_| true).depending_on(&selected);
            }
            let handled = handles_own_interface(facts, pod);
            plugin
                .map(|_| handled.value)
                .depending_on(&selected)
                .depending_on(&handled)
        }
    }
}

/// Returns whether the release of Istio handles pods with a network interface of their own.
fn handles_own_interface<'t>(facts: &PodFacts<'_, 't>, pod: &WorkloadPrediction<'t>) -> Fact<bool> {
    if pod.release.value.is_some() {
        return facts.has(&OWN_INTERFACE);
    }
    let message = "the release of Istio is at least 1.28.7, 1.29.3 or 1.30.0";
    Fact::assumed(true, message, Some("--mesh-version 1.N"))
}
