//! The cure that several rules share: let the mesh rewrite the pod's probes.

use crate::finding::{Applicability, Certainty, Finding};
use crate::mesh::Fact;
use crate::mesh::istio::keys;
use crate::mesh::istio::rewrite::parse_bool;
use crate::predict::{HandlerPrediction, Outcome, WorkloadPrediction, hazard, predict_with};
use crate::yaml::{Change, Entry, NodeRef, Route, Value};

use super::{Scene, scene};

/// Gives a finding the fix that switches the rewrite on for the pods of its workload; where that
/// would spoil another handler, the help says which.
pub(super) fn offer(scene: &Scene<'_, '_>, pod: &WorkloadPrediction<'_>, finding: &mut Finding) {
    let template = &pod.workload.template;
    let object = &pod.workload.object;
    let route = template.annotation_route(keys::REWRITE_PROBERS);
    let annotation = template.annotation(keys::REWRITE_PROBERS);
    let off = annotation.filter(|entry| entry.value.text().and_then(parse_bool) == Some(false));
    let (title, change) = match off {
        Some(entry) if is_default_sure(scene, pod) && !has_comment(entry) => {
            let title = format!(
                "remove `{}`: the mesh then has the agent make the check",
                keys::REWRITE_PROBERS
            );
            (
                title,
                Change::Remove {
                    route: removal(pod, route),
                },
            )
        }
        _ => {
            let title = format!(
                "set `{}` to \"true\": the agent in the sidecar then makes the check",
                keys::REWRITE_PROBERS
            );
            (
                title,
                Change::Set {
                    route,
                    value: Value::from("true"),
                },
            )
        }
    };
    let (applicability, help) = applicability(scene, pod);
    finding.help = help;
    finding.fix = Some(scene::fix(object, title, applicability, vec![change]));
}

/// Tells whether switching the rewrite on would give a handler its meaning back.
pub(super) fn cures(
    scene: &Scene<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> bool {
    let on = Fact::settled(true, "the rewrite is on");
    let after = predict_with(scene.context, &pod.workload, on);
    let mut handlers = after.handlers.iter();
    let same = handlers.find(|other| other.handler.route == handler.handler.route);
    same.is_some_and(|same| same.verdict.outcome == Outcome::Ok)
}

/// The mesh default is on, and the tree or the user says so: then the switch is not needed.
pub(super) fn is_default_sure<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>) -> bool {
    let default = scene.context.rewrite_default(&pod.workload);
    let release_known = pod.release.certainty == Certainty::Known && pod.release.value.is_some();
    default.value && (default.certainty == Certainty::Known || release_known)
}

/// Removes `annotations` with its only entry, and `metadata` with its only one.
pub(super) fn removal(pod: &WorkloadPrediction<'_>, route: Route) -> Route {
    let template = &pod.workload.template;
    let is_only = |node: Option<NodeRef<'_>>| node.is_some_and(|node| node.entries().len() == 1);
    let parent = |route: &Route| route.split_last().map(|(parent, _)| parent);
    if !is_only(template.annotations()) {
        return route;
    }
    let annotations = parent(&route).unwrap_or(route);
    if !is_only(template.node.get("metadata")) {
        return annotations;
    }
    parent(&annotations).unwrap_or(annotations)
}

/// Tells whether a comment stands on the line of the entry or on the one above: removing the
/// entry would lose it or leave it without its subject.
pub(super) fn has_comment(entry: Entry<'_>) -> bool {
    let text = entry.key.tree().text();
    let span = entry.span();
    let behind = text
        .get(span.end..)
        .unwrap_or_default()
        .lines()
        .next()
        .unwrap_or_default();
    let before = text.get(..span.start).unwrap_or_default();
    let above = before.rsplit('\n').nth(1).unwrap_or_default();
    behind.contains('#') || above.trim_start().starts_with('#')
}

/// Safe where every handler of the pod means behind the agent what it means without a mesh, and
/// nothing was rewritten ahead; only shown where the rewrite would spoil another handler.
fn applicability(
    scene: &Scene<'_, '_>,
    pod: &WorkloadPrediction<'_>,
) -> (Applicability, Option<String>) {
    if pod.prober_env.is_some() {
        let help = "the pod was rewritten ahead: the injector would append a second prober env";
        return (Applicability::DisplayOnly, Some(help.to_owned()));
    }
    let on = Fact::settled(true, "the rewrite is on");
    let after = predict_with(scene.context, &pod.workload, on);
    let mut handlers = after.handlers.iter();
    if let Some(spoiled) = handlers.find(|handler| handler.verdict.outcome.is_bad()) {
        let cause = spoiled.verdict.cause.describe();
        let help = format!("the rewrite alone would spoil {}: {cause}", spoiled.title());
        return (Applicability::DisplayOnly, Some(help));
    }
    let keeps_meaning = after.handlers.iter().all(|handler| {
        handler.agent_path().is_none()
            && handler.verdict.outcome == Outcome::Ok
            && hazard(scene.context, &after, handler).is_none()
    });
    if keeps_meaning {
        (Applicability::Safe, None)
    } else {
        (Applicability::Unsafe, None)
    }
}
