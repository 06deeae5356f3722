//! Rule `ambient-plugin-drops-probes`, documented in `docs/rules/ambient-plugin-drops-probes.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "ambient-plugin-drops-probes", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::NetworkPluginDrops)
        .filter_map(|(pod, handler)| {
            let network = cx.context.cluster_network(&pod.workload);
            let exclusive = network.exclusive_cilium();
            Some(report(pod, handler, network.dropping_plugin()?, exclusive))
        })
        .collect()
}

fn report(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    (plugin, cure): (&str, &str),
    exclusive: Option<Fact<()>>,
) -> Finding {
    // Cilium may delay the enrollment: the rule `ambient-cilium-cni-exclusive` reports that.
    let condition = exclusive.map_or("", |_| " once `istio-cni` has enrolled the pod");
    let message = format!(
        "{} will fail{condition}: in ambient mode its source address is `{}`, and {} drops its packets",
        handler.title(),
        keys::HOST_PROBE_SNAT,
        plugin,
    );
    let span = handler.handler.key.span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.help = Some(cure.to_owned());
    finding
}
