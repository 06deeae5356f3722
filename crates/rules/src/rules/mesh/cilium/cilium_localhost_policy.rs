//! Rule `cilium-localhost-policy`, documented in `docs/rules/cilium-localhost-policy.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::cilium;
use meshprobe_yaml::NodeRef;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::chart_values::{ChartValues, of_chart};

declare_rule! {
    "cilium-localhost-policy", Note, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    of_chart(cx, "cilium")
        .flat_map(|chart| [enforcement_mode(&chart), localhost_policy(&chart)])
        .flatten()
        .collect()
}

fn enforcement_mode(chart: &ChartValues<'_, '_>) -> Option<Finding> {
    let value = chart.values.get("policyEnforcementMode")?;
    if value.text() != Some("always") || !cilium::drops_unselected(chart.version) {
        return None;
    }
    let message = "`policyEnforcementMode: always` makes Cilium drop the probes of pods that no policy selects \
                   for ingress, since 1.20.0";
    let help = "add an ingress policy for every pod with probes";
    Some(report(chart, value, message, help))
}

fn localhost_policy(chart: &ChartValues<'_, '_>) -> Option<Finding> {
    let value = chart.values.get("extraConfig")?.get("allow-localhost")?;
    if value.text() != Some("policy") {
        return None;
    }
    let message =
        "`allow-localhost: policy` lets the kubelet reach pods only if a policy allows it";
    let help = "allow the entity `host` in the policies of pods with probes";
    Some(report(chart, value, message, help))
}

fn report(chart: &ChartValues<'_, '_>, value: NodeRef<'_>, message: &str, help: &str) -> Finding {
    let mut finding = RULE.finding_on_object(chart.object, value.span(), message.to_owned());
    finding.help = Some(help.to_owned());
    finding
}
