//! Rule `ambient-netpol-blocks-hbone`, documented in `docs/rules/ambient-netpol-blocks-hbone.md`.

use std::cell::OnceCell;

use hashbrown::HashSet;
use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::{Dataplane, IngressRule, IsolatingPolicies};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{Change, Entry, FieldPath, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "ambient-netpol-blocks-hbone", Warning, failure: true, fix: Sometimes, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
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
            findings.extend(pod.map(|(pod, _)| report(pod, policy, index, ports)));
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
            isolating.deny(None, keys::HBONE_PORT) && seen.insert(isolating.key())
        })
        .collect()
}

fn report<'t>(
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
    let mut finding = RULE.finding_on_object(policy, ports.key.span(), message);
    finding.field = Some(format!("spec.ingress[{index}].ports"));
    finding.depend_on(&pod.dataplane);
    let object = &pod.workload.object;
    finding
        .related
        .push(object.label_at(object.name_span(), "this pod is in ambient mode"));
    finding.help = Some(format!("also admit port {}", keys::HBONE_PORT));
    let value = vec![("port".to_owned(), Value::from(keys::HBONE_PORT))];
    let route = FieldPath::keys(&["spec", "ingress"])
        .child(index)
        .child("ports");
    let change = Change::Push {
        route: policy.route.join(&route),
        value: Value::Map(value),
    };
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
