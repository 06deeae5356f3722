//! Rule `ambient-cilium-cni-exclusive`, documented in `docs/rules/ambient-cilium-cni-exclusive.md`.

use std::sync::Arc;

use hashbrown::HashSet;
use meshprobe_mesh::finding::Finding;
use meshprobe_predict::context::Dataplane;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "ambient-cilium-cni-exclusive", Warning, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut seen = HashSet::new();
    let pods = cx.predictions.iter();
    pods.filter(|pod| pod.dataplane.value == Dataplane::Ambient)
        .filter_map(|pod| {
            let exclusive = cx.context.cluster_network(&pod.workload).exclusive_cilium()?;
            let mut places = exclusive.because.iter();
            let place = places.find_map(|reason| reason.place.as_ref())?;
            if !seen.insert((Arc::clone(&place.path), place.span)) {
                return None;
            }
            let object = &pod.workload.object;
            let message = format!(
                "{} may be enrolled in ambient mode too late: `cni.exclusive: true` of Cilium removes the \
                 configuration of `istio-cni`",
                pod.workload.title(),
            );
            let mut finding = RULE.finding_on_object(object, object.name_span(), message);
            finding.depend_on(&exclusive);
            finding.depend_on(&pod.dataplane);
            finding.help = Some("set `cni.exclusive: false` in the chart values of Cilium (`cni-exclusive: \"false\"` in `cilium-config`)".to_owned());
            Some(finding)
        })
        .collect()
}
