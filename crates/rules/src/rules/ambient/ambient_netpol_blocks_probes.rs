//! Rule `ambient-netpol-blocks-probes`, documented in `docs/rules/ambient-netpol-blocks-probes.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix, names_and_more};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Change, FieldPath, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "ambient-netpol-blocks-probes", Error, fix: Sometimes, scope: Workloads
}

/// The maximum number of policies that a finding names. The limit keeps reports small, because the finding of each
/// probe repeats the names.
const MAX_NAMES: usize = 8;

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(pod, handler)| {
            pod.dataplane.value == Dataplane::Ambient
                && handler.verdict.cause == Cause::NetworkPolicyDenies
        })
        .map(|(pod, handler)| report(cx, pod, handler))
        .collect()
}

fn report<'t>(
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
    let message = format!(
        "{} will fail: in ambient mode its source address is `{}`, and {policies_deny} this address \
         to port {}",
        handler.title(),
        keys::HOST_PROBE_SNAT,
        handler.port.unwrap_or_default(),
    );
    let span = handler.handler.key.span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
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
    let change = Change::Push {
        route,
        value: map("from", Value::Seq(vec![peer])),
    };
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
