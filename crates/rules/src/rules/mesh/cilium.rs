//! Cilium.

use std::cell::OnceCell;

use hashbrown::HashSet;
use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::{Fact, cilium};
use meshprobe_predict::context::{IngressRule, IsolatingPolicies};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{NodeRef, Span};

use crate::rules::RuleContext;
use crate::rules::support::chart_values::{ChartValues, of_chart};

crate::rules::rule::rules! {
    LOCALHOST_POLICY = "cilium-localhost-policy", Note, fix: None, scope: Tree,
        |cx| of_chart(cx, "cilium").flat_map(|chart| [enforcement_mode(&chart), localhost_policy(&chart)])
            .flatten().collect();
    ZTUNNEL_POLICY = "cilium-ztunnel-policy", Warning, fix: None, scope: Tree, check_ztunnel_policy;
}

fn enforcement_mode(chart: &ChartValues<'_, '_>) -> Option<Finding> {
    let value = chart.values.get("policyEnforcementMode")?;
    if value.text() != Some("always") || !cilium::drops_unselected(chart.version) {
        return None;
    }
    let message = "`policyEnforcementMode: always` makes Cilium drop the probes of pods that no policy selects \
                   for ingress, since 1.20.0";
    let help = "add an ingress policy for every pod with probes";
    Some(report_localhost_policy(chart, value, message, help))
}

fn localhost_policy(chart: &ChartValues<'_, '_>) -> Option<Finding> {
    let value = chart.values.get("extraConfig")?.get("allow-localhost")?;
    if value.text() != Some("policy") {
        return None;
    }
    let message =
        "`allow-localhost: policy` lets the kubelet reach pods only if a policy allows it";
    let help = "allow the entity `host` in the policies of pods with probes";
    Some(report_localhost_policy(chart, value, message, help))
}

fn report_localhost_policy(
    chart: &ChartValues<'_, '_>,
    value: NodeRef<'_>,
    message: &str,
    help: &str,
) -> Finding {
    let mut finding =
        LOCALHOST_POLICY.finding_on_object(chart.object, value.span(), message.to_owned());
    finding.help = Some(help.to_owned());
    finding
}

/// A pod that ztunnel cannot reach, with the policies that isolate it.
type BlockedPod<'s, 't> = (
    &'s WorkloadPrediction<'t>,
    Fact<()>,
    IsolatingPolicies<'s, 't>,
);

fn check_ztunnel_policy(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let blocked = OnceCell::new();
    for policy in &cx.context.inventory.network_policies {
        let rules = IngressRule::all_of(policy).enumerate();
        let ports = rules.filter_map(|(index, rule)| Some((index, rule.ports()?)));
        let Some((index, ports)) = ports.into_iter().next() else {
            continue;
        };
        let pods = blocked.get_or_init(|| blocked_pods(cx)).iter();
        let selected = pods.filter(|(.., isolating)| isolating.contains(policy));
        if let Some((pod, enrolled, _)) = selected.into_iter().next() {
            let mut finding = ztunnel_policy(pod, policy, ports.key.span());
            finding.field = Some(format!("spec.ingress[{index}].ports"));
            finding.depend_on(enrolled);
            findings.push(finding);
        }
    }
    findings
}

/// Returns the pods enrolled in ztunnel for which no policy admits its port: the first of those that the same policies
/// isolate.
fn blocked_pods<'s, 't>(cx: &RuleContext<'s, 't>) -> Vec<BlockedPod<'s, 't>> {
    let mut seen = HashSet::new();
    let pods = cx.predictions.iter();
    pods.filter(|pod| pod.workload.template.host_network().is_none())
        .filter_map(|pod| {
            let namespace = cx.context.namespace_of(&pod.workload.object).manifest()?;
            let enrolled = cilium::enrolled(namespace)?;
            let isolating = cx.context.network_policies(&pod.workload).isolating();
            let is_blocked = isolating.deny(None, cilium::HBONE_PORT);
            (is_blocked && seen.insert(isolating.positions().to_vec()))
                .then_some((pod, enrolled, isolating))
        })
        .collect()
}

fn ztunnel_policy<'t>(pod: &WorkloadPrediction<'t>, policy: &Object<'t>, span: Span) -> Finding {
    let port = cilium::HBONE_PORT;
    let message = format!(
        "connections from enrolled pods to {} are dropped: ztunnel of Cilium receives them on port {port}, but \
         NetworkPolicy `{}` admits only other ports",
        pod.workload.title(),
        policy.name(),
    );
    let mut finding = ZTUNNEL_POLICY.finding_on_object(policy, span, message);
    finding.help = Some(format!("also admit port {port}"));
    finding
}
