//! Rule `envoyfilter-unknown`, documented in `docs/rules/envoyfilter-unknown.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Object;
use meshprobe_predict::context::inbound_patch;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "envoyfilter-unknown", Note, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.context
        .inventory
        .envoy_filters
        .iter()
        .filter_map(|filter| report(cx, filter))
        .collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, filter: &Object<'t>) -> Option<Finding> {
    let (index, apply_to) = inbound_patch(filter)?;
    let (pod, handler) = cx
        .workloads_in_scope(filter)
        .into_iter()
        .filter(|pod| cx.context.istio_policy(filter).filters(&pod.workload))
        .flat_map(|pod| pod.handlers.iter().map(move |handler| (pod, handler)))
        .find(|(_, handler)| {
            !handler.rewritten
                && handler
                    .captured
                    .as_ref()
                    .is_some_and(|captured| captured.value)
        })?;
    let message = format!(
        "EnvoyFilter `{}` patches inbound traffic of {}: the verdicts for its probes are correct \
         only if the patch does not affect them",
        filter.name(),
        pod.workload.title(),
    );
    let mut finding = RULE.finding_on_object(filter, apply_to.span(), message);
    finding.field = Some(format!("spec.configPatches[{index}].applyTo"));
    let object = &pod.workload.object;
    let label = "this probe reaches the sidecar";
    finding
        .related
        .push(object.label_at(handler.handler.key.span(), label));
    finding.depend_on(&pod.dataplane);
    let help = "test the probe in a cluster, or let the mesh rewrite it, so that it bypasses the \
                filter";
    finding.help = Some(help.to_owned());
    Some(finding)
}
