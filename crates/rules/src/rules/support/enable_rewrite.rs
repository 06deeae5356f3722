//! The fix that turns the probe rewrite on for the pods of a workload.

use std::collections::BTreeSet;
use std::sync::Arc;

use meshprobe_mesh::finding::{Applicability, Finding, Fix, RuleId};
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::rewrite::parse_bool;
use meshprobe_predict::predict::{
    HandlerPrediction, Outcome, WorkloadPrediction, predict_with, rewrite_blocker,
};
use meshprobe_yaml::{Change, Value};

use crate::rules::context::{RewriteEffect, RewriteEffects, by_namespace};
use crate::rules::support::pod_metadata::{self, MetadataMap, has_comment};
use crate::rules::{
    Rule, RuleContext, network_policies, rewritten_probes, startup, status_port, traffic_capture,
};

/// Adds to a finding the fix that turns the rewrite on for the pods of its workload. If the rewrite would break another
/// handler, the reason of the fix names that handler.
pub(in crate::rules) fn add_fix<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    finding: &mut Finding,
) {
    let template = &pod.workload.template;
    let object = &pod.workload.object;
    let annotation = template.annotation(keys::REWRITE_PROBERS);
    let field = finding.field.as_deref().unwrap_or_default();
    let action = if field.contains("lifecycle") {
        "call"
    } else {
        "check"
    };
    let off = annotation.filter(|entry| entry.value.text().and_then(parse_bool) == Some(false));
    let (title, changes) = match off {
        Some(entry)
            if cx.rewrites_by_default(pod)
                && !has_comment(entry)
                && !pod_metadata::is_override(&pod.workload, &entry) =>
        {
            let title = format!(
                "remove `{}`: the mesh then has the agent make the {action}",
                keys::REWRITE_PROBERS
            );
            let keys = [keys::REWRITE_PROBERS];
            (
                title,
                pod_metadata::removal_changes(template, MetadataMap::Annotation, &keys),
            )
        }
        _ => {
            let title = format!(
                "set `{}` to \"true\": the agent in the sidecar then makes the {action}",
                keys::REWRITE_PROBERS
            );
            let route = template.annotation_route(keys::REWRITE_PROBERS);
            let value = Value::from("true");
            (title, vec![Change::Set { route, value }])
        }
    };
    let effect = effect(cx, pod);
    let applicability = effect.applicability.clone();
    finding.fix = Some(Fix::of_object(object, title, applicability, changes));
}

/// Returns whether a hook would work as without a mesh if the rewrite were on.
pub(in crate::rules) fn restores_hook(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    hook: &HandlerPrediction<'_>,
) -> bool {
    effect(cx, pod).restores_hook(&hook.handler.route)
}

/// Returns the effect of turning the rewrite on for a pod; predicted once per pod.
fn effect(cx: &RuleContext<'_, '_>, pod: &WorkloadPrediction<'_>) -> Arc<RewriteEffect> {
    cx.rewrite_effects.of(pod, || {
        let on = Fact::settled(true, "the rewrite is on");
        let after = predict_with(cx.context, &pod.workload, on);
        let applicability = applicability(cx, pod, &after);
        RewriteEffect::new(&after, applicability)
    })
}

/// Returns the applicability of the fix. The fix is safe if every handler keeps its meaning when the agent handles it
/// and the pod is not pre-rewritten; it is only displayed if the rewrite would break another handler.
fn applicability<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    after: &WorkloadPrediction<'t>,
) -> Applicability {
    if pod.prober_env.is_some() {
        return Applicability::display_only_because(
            "the pod is pre-rewritten: the injector would append a second prober env",
        );
    }
    let mut handlers = after.handlers.iter();
    if let Some(broken) = handlers.find(|handler| handler.verdict.outcome.is_bad()) {
        let cause = broken.verdict.cause.describe();
        return Applicability::display_only_because(format!(
            "the rewrite alone would break {}: {cause}",
            broken.title()
        ));
    }
    if let Some(rule) = rule_with_new_finding(cx, pod, after) {
        return Applicability::unsafe_because(format!(
            "the rewrite alone would cause `{rule}`, which has to be fixed first"
        ));
    }
    let mut handlers = after.handlers.iter();
    match handlers.find_map(|handler| changed_meaning(cx, after, handler)) {
        Some(reason) => Applicability::unsafe_because(reason),
        None => Applicability::Safe,
    }
}

/// Returns why a handler does not keep its meaning, or may not keep it, when the agent handles it; `None` if it does.
fn changed_meaning<'t>(
    cx: &RuleContext<'_, 't>,
    after: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<String> {
    let title = handler.title();
    if handler.agent_path().is_some() {
        return Some(format!("{title} already targets the agent"));
    }
    if handler.verdict.outcome != Outcome::Ok {
        let cause = handler.verdict.cause.describe();
        return Some(format!(
            "the result of {title} with the rewrite is not known: {cause}"
        ));
    }
    let blocker = rewrite_blocker(cx.context, after, handler)?;
    Some(format!("{title} may change: {}", blocker.message))
}

/// Rules about the effects of a rewrite on the pod; none of them offers this fix.
const ABOUT_REWRITTEN: [&Rule; 9] = [
    &status_port::APP_PROBE_ON_STATUS_PORT,
    &rewritten_probes::HTTP_PROBE_HOST_REWRITTEN,
    &rewritten_probes::LIFECYCLE_HOOK_HOST_REWRITTEN,
    &traffic_capture::LOCALHOST_DESTINATION_CHANGED,
    &startup::NATIVE_SIDECAR_STARTUP_DEADLOCK,
    &network_policies::NETPOL_IPBLOCK,
    &startup::POSTSTART_HTTP_BEFORE_SIDECAR,
    &status_port::STATUS_PORT_IN_INCLUDE_LIST,
    &rewritten_probes::TCP_PROBE_HOST_DROPPED,
];

/// Returns the first rule that reports something about the rewritten pod that it does not report about the
/// current pod.
fn rule_with_new_finding<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    after: &WorkloadPrediction<'t>,
) -> Option<RuleId> {
    let found = |rule: &Rule, pod: &WorkloadPrediction<'t>| -> BTreeSet<_> {
        let predictions = std::slice::from_ref(pod);
        let by_namespace = by_namespace(cx.context, predictions);
        let alone = RuleContext {
            context: cx.context,
            predictions,
            by_namespace: &by_namespace,
            rewrite_effects: &RewriteEffects::default(),
        };
        (rule.check)(&alone)
            .into_iter()
            .map(|finding| (finding.object, finding.container, finding.field))
            .collect()
    };
    ABOUT_REWRITTEN
        .into_iter()
        .find(|rule| !found(rule, after).is_subset(&found(rule, pod)))
        .map(|rule| rule.id)
}
