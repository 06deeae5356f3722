//! Rule `linkerd-probe-network`, documented in `docs/rules/linkerd-probe-network.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::NodeRef;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::chart_values::{ChartValues, of_chart};

declare_rule! {
    "linkerd-probe-network", Note, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    of_chart(cx, "linkerd-control-plane")
        .filter_map(|chart| report(&chart))
        .collect()
}

fn report(chart: &ChartValues<'_, '_>) -> Option<Finding> {
    let controller = chart.values.get("policyController")?;
    let networks = controller.get("probeNetworks")?;
    let listed: Vec<&str> = networks.items().filter_map(NodeRef::text).collect();
    let is_open = |network: &&str| network.ends_with("/0") || placeholder::contains(network);
    if listed.is_empty() || listed.iter().any(is_open) {
        return None;
    }
    let message = format!(
        "Linkerd admits probes only from {}: at ports that a policy closes, it denies probes from nodes \
         with other addresses",
        listed.join(", ")
    );
    let mut finding = RULE.finding_on_object(chart.object, networks.span(), message);
    finding.help = Some("list the networks of all nodes, or remove the value".to_owned());
    Some(finding)
}
