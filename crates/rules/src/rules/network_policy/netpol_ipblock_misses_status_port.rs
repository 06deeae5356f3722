//! Rule `netpol-ipblock-misses-status-port`, documented in `docs/rules/netpol-ipblock-misses-status-port.md`.

use std::cell::OnceCell;

use hashbrown::HashSet;
use meshprobe_mesh::finding::{Certainty, Finding, Severity};
use meshprobe_mesh::kube::Object;
use meshprobe_predict::context::{
    AdmittedPorts, Context, Dataplane, IngressRule, IsolatingPolicies, Source, named_ports,
};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "netpol-ipblock-misses-status-port", Warning, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let blocked = cx
        .predictions
        .iter()
        .filter(|pod| pod.dataplane.value != Dataplane::Ambient)
        .flat_map(|pod| {
            pod.handlers
                .iter()
                .filter_map(|handler| report_blocked(pod, handler))
        });
    let suspects = OnceCell::new();
    let suspected = cx
        .in_workload_namespaces(&cx.context.inventory.network_policies)
        .into_iter()
        .filter_map(|policy| {
            IngressRule::all_of(policy)
                .filter(|rule| rule.names_private_addresses())
                .find_map(|rule| report_suspected(cx, &suspects, policy, rule))
        });
    blocked.chain(suspected).collect()
}

/// Returns whether no option states whether the plugin filters the node's packets.
fn is_plugin_unknown<'t>(context: &Context<'t>, pod: &WorkloadPrediction<'t>) -> bool {
    let settings = context.user_facts(&pod.workload.object);
    settings
        .overrides
        .cni_enforces_node_traffic
        .or(settings.assume.cni_enforces_node_traffic)
        .is_none()
}

/// Reports a handler that fails because the plugin filters the node's packets.
fn report_blocked(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    if handler.verdict.cause != Cause::NetworkPolicyDenies {
        return None;
    }
    let rewritten_port = handler
        .rewritten_to
        .as_ref()
        .map(|rewritten_to| rewritten_to.port);
    let message = format!(
        "{} will fail: no NetworkPolicy admits the node to port {}",
        handler.title(),
        rewritten_port.or(handler.port).unwrap_or_default(),
    );
    let span = handler.handler.key.span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    // More severe than a suspicion, because the probe fails. The certainty depends on the option about the plugin.
    finding.severity = if finding.certainty > Certainty::Assumed {
        Severity::Error
    } else {
        Severity::Warning
    };
    finding.help = Some("admit the addresses of the nodes to this port".to_owned());
    Some(finding)
}

/// A rewritten probe that fails if the plugin filters the node's packets, which is not known.
struct Suspect<'s, 't> {
    pod: &'s WorkloadPrediction<'t>,
    handler: &'s HandlerPrediction<'t>,
    port: i64,
    agent_port: i64,
    isolating: IsolatingPolicies<'s, 't>,
}

/// Returns the rewritten probes whose port of the agent no policy admits: the first of those that the same policies
/// isolate and for which a rule admits the same ports.
fn suspects<'s, 't>(cx: &RuleContext<'s, 't>) -> Vec<Suspect<'s, 't>> {
    let context = cx.context;
    let mut seen = HashSet::new();
    let mut suspects = Vec::new();
    for pod in cx.predictions {
        if pod.dataplane.value != Dataplane::Sidecar
            || rewritten_probes_of(pod).next().is_none()
            || !is_plugin_unknown(context, pod)
        {
            continue;
        }
        let isolating = context.network_policies(&pod.workload).isolating();
        for (handler, port, agent_port) in rewritten_probes_of(pod) {
            let same_answer = || (isolating.key(), port, named_ports(&pod.workload));
            if isolating.deny(Some(Source::Node), agent_port) && seen.insert(same_answer()) {
                suspects.push(Suspect {
                    pod,
                    handler,
                    port,
                    agent_port,
                    isolating: isolating.clone(),
                });
            }
        }
    }
    suspects
}

/// Reports a policy that blocks rewritten probes if the plugin filters the node's packets. Whether it does is not known:
/// a rule for private addresses is the evidence.
fn report_suspected<'s, 't>(
    cx: &RuleContext<'s, 't>,
    known: &OnceCell<Vec<Suspect<'s, 't>>>,
    policy: &Object<'t>,
    rule: IngressRule<'t>,
) -> Option<Finding> {
    let ports = rule.ports()?;
    let admitted = AdmittedPorts::of(rule);
    let Suspect {
        pod,
        handler,
        agent_port,
        ..
    } = known.get_or_init(|| suspects(cx)).iter().find(|suspect| {
        suspect.isolating.contains(policy)
            && admitted
                .first(&suspect.pod.workload, suspect.port)
                .is_some()
    })?;
    let message = format!(
        "the rewritten probes of {} target port {agent_port}, but NetworkPolicy `{}` admits \
         addresses outside the cluster only to the port of the application",
        pod.workload.title(),
        policy.name(),
    );
    let mut finding = RULE.finding_on_object(policy, ports.key.span(), message);
    let object = &pod.workload.object;
    let label = format!("the kubelet sends this probe to port {agent_port}");
    finding
        .related
        .push(object.label_at(handler.handler.key.span(), label));
    finding.depend_on(&pod.dataplane);
    let assumption = "the network plugin filters the node's own packets \
                [--assume cni-enforces-node-traffic=true|false]";
    finding.assumptions.push(assumption.to_owned());
    finding.help = Some(format!(
        "admit the same addresses to port {agent_port} (and to 15021, the readiness port of the \
         sidecar)"
    ));
    Some(finding)
}

/// Iterates over the rewritten probes of a pod, each with its original port and the port of the agent.
fn rewritten_probes_of<'p, 't>(
    pod: &'p WorkloadPrediction<'t>,
) -> impl Iterator<Item = (&'p HandlerPrediction<'t>, i64, i64)> {
    pod.handlers.iter().filter_map(|handler| {
        let is_rewritten = handler.verdict.cause == Cause::Rewritten;
        let rewritten_to = handler.rewritten_to.as_ref().filter(|_| is_rewritten)?;
        Some((handler, handler.port?, rewritten_to.port))
    })
}
