//! The cure that several rules share: let the mesh rewrite the pod's probes.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::finding::{Applicability, Certainty, Finding};
use crate::mesh::Fact;
use crate::mesh::istio::keys;
use crate::mesh::istio::rewrite::parse_bool;
use crate::predict::{HandlerPrediction, Outcome, WorkloadPrediction, hazard, predict_with};
use crate::yaml::{Change, Value};

use super::pod_key::{self, Place, has_comment};
use super::pod_labels::PodLabels;
use super::rewrite_cure::{RewriteCure, RewriteCures};
use super::scene::by_namespace;
use super::{
    Rule, Scene, app_probe_on_status_port, http_probe_host_rewritten,
    lifecycle_hook_host_rewritten, localhost_destination_changed, native_sidecar_startup_deadlock,
    netpol_ipblock_misses_status_port, poststart_http_before_sidecar, scene,
    status_port_in_include_list, tcp_probe_host_dropped,
};

/// Gives a finding the fix that switches the rewrite on for the pods of its workload; where that
/// would spoil another handler, the help says which.
pub(super) fn offer<'t>(
    scene: &Scene<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    finding: &mut Finding,
) {
    let template = &pod.workload.template;
    let object = &pod.workload.object;
    let annotation = template.annotation(keys::REWRITE_PROBERS);
    let field = finding.field.as_deref().unwrap_or_default();
    let what = if field.contains("lifecycle") {
        "call"
    } else {
        "check"
    };
    let off = annotation.filter(|entry| entry.value.text().and_then(parse_bool) == Some(false));
    let (title, changes) = match off {
        Some(entry) if is_default_sure(scene, pod) && !has_comment(entry) => {
            let title = format!(
                "remove `{}`: the mesh then has the agent make the {what}",
                keys::REWRITE_PROBERS
            );
            let keys = [keys::REWRITE_PROBERS];
            (title, pod_key::removal(template, Place::Annotation, &keys))
        }
        _ => {
            let title = format!(
                "set `{}` to \"true\": the agent in the sidecar then makes the {what}",
                keys::REWRITE_PROBERS
            );
            let route = template.annotation_route(keys::REWRITE_PROBERS);
            let value = Value::from("true");
            (title, vec![Change::Set { route, value }])
        }
    };
    let cure = cure(scene, pod);
    finding.help.clone_from(&cure.help);
    finding.fix = Some(scene::fix(object, title, cure.applicability, changes));
}

/// Tells whether enabling the rewrite would make a hook do again what it does without a mesh.
pub(super) fn cures(
    scene: &Scene<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    hook: &HandlerPrediction<'_>,
) -> bool {
    cure(scene, pod).restores_hook(&hook.handler.route)
}

/// Returns what enabling the rewrite does to a pod; predicted once per pod.
fn cure(scene: &Scene<'_, '_>, pod: &WorkloadPrediction<'_>) -> Arc<RewriteCure> {
    scene.cures.of(pod, || {
        let on = Fact::settled(true, "the rewrite is on");
        let after = predict_with(scene.context, &pod.workload, on);
        let (applicability, help) = applicability(scene, pod, &after);
        RewriteCure::new(&after, applicability, help)
    })
}

/// The mesh default is on, and the tree or the user says so: then the switch is not needed.
pub(super) fn is_default_sure<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>) -> bool {
    let default = scene.context.rewrite_default(&pod.workload);
    let release_known = pod.release.certainty == Certainty::Known && pod.release.value.is_some();
    default.value && (default.certainty == Certainty::Known || release_known)
}

/// Safe where every handler of the pod means behind the agent what it means without a mesh, and
/// nothing was rewritten ahead; only shown where the rewrite would spoil another handler.
fn applicability<'t>(
    scene: &Scene<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    after: &WorkloadPrediction<'t>,
) -> (Applicability, Option<String>) {
    if pod.prober_env.is_some() {
        let help = "the pod was rewritten ahead: the injector would append a second prober env";
        return (Applicability::DisplayOnly, Some(help.to_owned()));
    }
    let mut handlers = after.handlers.iter();
    if let Some(spoiled) = handlers.find(|handler| handler.verdict.outcome.is_bad()) {
        let cause = spoiled.verdict.cause.describe();
        let help = format!("the rewrite alone would spoil {}: {cause}", spoiled.title());
        return (Applicability::DisplayOnly, Some(help));
    }
    let keeps_meaning = after.handlers.iter().all(|handler| {
        handler.agent_path().is_none()
            && handler.verdict.outcome == Outcome::Ok
            && hazard(scene.context, after, handler).is_none()
    });
    if let Some(rule) = uncovered(scene, pod, after) {
        let help = format!("the rewrite alone would bring `{rule}`: see to that first");
        return (Applicability::Unsafe, Some(help));
    }
    if keeps_meaning {
        (Applicability::Safe, None)
    } else {
        (Applicability::Unsafe, None)
    }
}

/// Rules about what a rewrite does to the pod; none of them offers this cure.
const ABOUT_REWRITTEN: [&Rule; 9] = [
    &app_probe_on_status_port::RULE,
    &http_probe_host_rewritten::RULE,
    &lifecycle_hook_host_rewritten::RULE,
    &localhost_destination_changed::RULE,
    &native_sidecar_startup_deadlock::RULE,
    &netpol_ipblock_misses_status_port::RULE,
    &poststart_http_before_sidecar::RULE,
    &status_port_in_include_list::RULE,
    &tcp_probe_host_dropped::RULE,
];

/// Returns the first rule that finds something on the pod as it will be and not as it is.
fn uncovered<'t>(
    scene: &Scene<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    after: &WorkloadPrediction<'t>,
) -> Option<&'static str> {
    let found = |rule: &Rule, pod: &WorkloadPrediction<'t>| -> BTreeSet<_> {
        let predictions = std::slice::from_ref(pod);
        let by_namespace = by_namespace(scene.context, predictions);
        let alone = Scene {
            context: scene.context,
            predictions,
            by_namespace: &by_namespace,
            by_label: &PodLabels::default(),
            cures: &RewriteCures::default(),
        };
        let findings = (rule.check)(&alone).into_iter();
        let key = |one: Finding| (one.object, one.container, one.field);
        findings.map(key).collect()
    };
    let mut rules = ABOUT_REWRITTEN.into_iter();
    rules
        .find(|rule| !found(rule, after).is_subset(&found(rule, pod)))
        .map(|rule| rule.id)
}
