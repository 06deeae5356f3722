//! Rule `netpol-ipblock-misses-status-port`, documented in `docs/rules/netpol-ipblock-misses-status-port.md`.

use crate::context::{Context, Dataplane, IngressRule, PolicyScope, Source, isolates};
use crate::finding::{Certainty, Finding, Severity};
use crate::kube::Object;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
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
    let suspected = cx
        .in_workload_namespaces(&cx.context.inventory.network_policies)
        .into_iter()
        .filter_map(|policy| {
            IngressRule::all_of(policy)
                .filter(|rule| rule.names_private_addresses())
                .find_map(|rule| report_suspected(cx, policy, rule))
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

/// Reports a policy that blocks rewritten probes if the plugin filters the node's packets. Whether it does is not known:
/// a rule for private addresses is the evidence.
fn report_suspected<'t>(
    cx: &RuleContext<'_, 't>,
    policy: &Object<'t>,
    rule: IngressRule<'t>,
) -> Option<Finding> {
    let context = cx.context;
    let ports = rule.ports()?;
    let isolated = cx
        .workloads_of_policy(policy, PolicyScope::Namespace)
        .into_iter()
        .filter(|pod| {
            // Selectors are compared last, because that takes longest.
            pod.dataplane.value == Dataplane::Sidecar
                && rewritten_probes_of(pod).next().is_some()
                && isolates(policy, &pod.workload)
                && is_plugin_unknown(context, pod)
        });
    let mut rewritten_probes = isolated.flat_map(|pod| {
        rewritten_probes_of(pod)
            .map(move |(handler, port, agent_port)| (pod, handler, port, agent_port))
    });
    let (pod, handler, _, agent_port) = rewritten_probes.find(|(pod, _, port, agent_port)| {
        rule.admits_port(&pod.workload, *port)
            && !context
                .network_policies(&pod.workload)
                .admit(Source::Node, *agent_port)
                .value
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
