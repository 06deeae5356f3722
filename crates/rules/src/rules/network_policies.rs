//! Rules for NetworkPolicies that block the kubelet, or the traffic of the mesh.

use std::cell::OnceCell;

use hashbrown::HashSet;
use meshprobe_mesh::finding::{
    Applicability, Certainty, Finding, Fix, Sentence, Severity, names_and_more,
};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::{
    Context, Dataplane, IngressRule, IsolatingPolicies, Source, named_ports,
};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Change, Entry, FieldPath, Value};

use crate::rules::RuleContext;

crate::rules::rule::rules! {
    NETPOL_BLOCKS_HBONE = "ambient-netpol-blocks-hbone", Warning, failure: true, fix: Sometimes, scope: Tree,
        check_netpol_blocks_hbone;
    NETPOL_BLOCKS_PROBES = "ambient-netpol-blocks-probes", Error, fix: Sometimes, scope: Workloads,
        check_netpol_blocks_probes;
    NETPOL_IPBLOCK = "netpol-ipblock-misses-status-port", Warning, fix: None, scope: Tree, netpol_ipblock;
}

fn check_netpol_blocks_hbone(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let blocked = OnceCell::new();
    for policy in &cx.context.inventory.network_policies {
        let rules: Vec<_> = IngressRule::all_of(policy).collect();
        let rule_with_ports = rules
            .iter()
            .enumerate()
            .find_map(|(index, rule)| Some((index, rule.ports().filter(|_| admits_pods(*rule))?)));
        if let Some((index, ports)) = rule_with_ports {
            let pods = blocked.get_or_init(|| blocked_pods(cx));
            let pod = pods
                .iter()
                .find(|(_, isolating)| isolating.contains(policy));
            findings.extend(pod.map(|(pod, _)| netpol_blocks_hbone(pod, policy, index, ports)));
        }
    }
    findings
}

/// Returns whether a rule admits peers that may be in the mesh. Address blocks (`ipBlock`) are for clients outside
/// the mesh.
fn admits_pods(rule: IngressRule<'_>) -> bool {
    let mut peers = rule.peers().peekable();
    peers.peek().is_none() || peers.any(|peer| peer.get("ipBlock").is_none())
}

/// Returns the pods in ambient mode for which no policy admits the port of mesh traffic: the first of those that the
/// same policies isolate.
fn blocked_pods<'s, 't>(
    cx: &RuleContext<'s, 't>,
) -> Vec<(&'s WorkloadPrediction<'t>, IsolatingPolicies<'s, 't>)> {
    let mut seen = HashSet::new();
    cx.predictions
        .iter()
        .filter(|pod| pod.dataplane.value == Dataplane::Ambient)
        .map(|pod| (pod, cx.context.network_policies(&pod.workload).isolating()))
        .filter(|(_, isolating)| {
            isolating.deny(None, keys::HBONE_PORT) && seen.insert(isolating.positions().to_vec())
        })
        .collect()
}

fn netpol_blocks_hbone<'t>(
    pod: &WorkloadPrediction<'t>,
    policy: &Object<'t>,
    index: usize,
    ports: Entry<'t>,
) -> Finding {
    let message = format!(
        "mesh traffic to {} is dropped: it arrives on port {}, but NetworkPolicy `{}` admits only \
         other ports",
        pod.workload.title(),
        keys::HBONE_PORT,
        policy.name(),
    );
    let mut finding = NETPOL_BLOCKS_HBONE.finding_on_object(policy, ports.key.span(), message);
    finding.field = Some(format!("spec.ingress[{index}].ports"));
    finding.depend_on(&pod.dataplane);
    let object = &pod.workload.object;
    finding.relate(object.label_at(object.name_span(), "this pod is in ambient mode"));
    finding.help = Some(format!("also admit port {}", keys::HBONE_PORT));
    let value = vec![("port".to_owned(), Value::from(keys::HBONE_PORT))];
    let route = FieldPath::keys(&["spec", "ingress"])
        .child(index)
        .child("ports");
    let change = Change::push(policy.route.join(&route), Value::Map(value));
    let title = format!("admit port {}", keys::HBONE_PORT);
    finding.fix = (!ports.merged).then(|| {
        Fix::of_object(
            policy,
            title,
            Applicability::unsafe_because(
                "it opens all ports of the application to clients in the mesh",
            ),
            vec![change],
        )
    });
    finding
}

/// The maximum number of policies that a finding names. The limit keeps reports small, because the finding of each
/// probe repeats the names.
const MAX_NAMES: usize = 8;

fn check_netpol_blocks_probes(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(pod, handler)| {
            pod.dataplane.value == Dataplane::Ambient
                && handler.verdict.cause == Cause::NetworkPolicyDenies
        })
        .map(|(pod, handler)| netpol_blocks_probes(cx, pod, handler))
        .collect()
}

fn netpol_blocks_probes<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Finding {
    let policies = cx.context.network_policies(&pod.workload).isolating();
    let names: Vec<String> = policies
        .all()
        .map(|policy| format!("`{}`", policy.name()))
        .collect();
    let names = names_and_more(names.iter(), MAX_NAMES);
    let policies_deny = match policies.count() {
        1 => format!("NetworkPolicy {names} does not admit"),
        _ => format!("none of the NetworkPolicies {names} admits"),
    };
    let sentence = Sentence::each(format!(
        "will fail: in ambient mode its source address is `{}`, and {policies_deny} this address to port {}",
        keys::HOST_PROBE_SNAT,
        handler.port.unwrap_or_default()
    ));
    let span = handler.handler.key.span();
    let mut finding = NETPOL_BLOCKS_PROBES.finding_on_handler(pod, handler, span, sentence);
    let block = format!("{}/32", keys::HOST_PROBE_SNAT);
    finding.help = Some(format!("admit the `ipBlock` `{block}` in an ingress rule"));
    if policies.count() == 1 {
        finding.fix = policies.all().next().map(|only| fix(only, &block));
    }
    finding
}

fn fix(policy: &Object<'_>, block: &str) -> Fix {
    let map = |key: &str, value: Value| Value::Map(vec![(key.to_owned(), value)]);
    let peer = map("ipBlock", map("cidr", Value::from(block)));
    let route = policy.route.join(&FieldPath::keys(&["spec", "ingress"]));
    let change = Change::push(route, map("from", Value::Seq(vec![peer])));
    let title = format!("admit `{block}` in NetworkPolicy `{}`", policy.name());
    Fix::of_object(
        policy,
        title,
        Applicability::unsafe_because(
            "it opens all ports of the selected pods to the probes of the node",
        ),
        vec![change],
    )
}

fn netpol_ipblock(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
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
    let sentence = Sentence::all("will fail: no NetworkPolicy admits the node to ")
        .port(rewritten_port.or(handler.port).unwrap_or_default(), "");
    let span = handler.handler.key.span();
    let mut finding = NETPOL_IPBLOCK.finding_on_handler(pod, handler, span, sentence);
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
            let same_answer = || {
                let policies = isolating.positions().to_vec();
                (policies, port, named_ports(&pod.workload))
            };
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
    let Suspect {
        pod,
        handler,
        agent_port,
        ..
    } = known.get_or_init(|| suspects(cx)).iter().find(|suspect| {
        suspect.isolating.contains(policy) && rule.admits_port(&suspect.pod.workload, suspect.port)
    })?;
    let message = format!(
        "the rewritten probes of {} target port {agent_port}, but NetworkPolicy `{}` admits \
         addresses outside the cluster only to the port of the application",
        pod.workload.title(),
        policy.name(),
    );
    let mut finding = NETPOL_IPBLOCK.finding_on_object(policy, ports.key.span(), message);
    let object = &pod.workload.object;
    let label = format!("the kubelet sends this probe to port {agent_port}");
    finding.relate(object.label_at(handler.handler.key.span(), label));
    finding.depend_on(&pod.dataplane);
    finding.assume(
        "the network plugin filters the node's own packets",
        "--assume cni-enforces-node-traffic=true|false",
    );
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
