//! What the rules about pods that were rewritten ahead have in common.

use crate::context::{ProberEnvPlace, proxy_container};
use crate::finding::{Applicability, Finding, Fix};
use crate::kube::Workload;
use crate::mesh::istio::keys;
use crate::predict::{HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, NodeRef, Span, Value};

use super::{Rule, scene};

/// Returns the one line of the prober env to point at; none where its value has several.
fn line(pod: &WorkloadPrediction<'_>) -> Option<Span> {
    let text = pod.workload.template.node.tree().text();
    let env = pod.prober_env.as_ref().map(|env| env.span);
    env.filter(|span| !span.slice(text).contains('\n'))
}

/// Starts a finding about a handler at the prober env, which is at fault; `beside` is said of the
/// handler.
pub(super) fn about_handler(
    rule: &Rule,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    message: String,
    beside: &str,
) -> Finding {
    let probe = match handler.agent_path() {
        Some(_) => handler.handler.field_span("path"),
        None => handler.handler.key.span(),
    };
    let env = line(pod);
    let span = env.unwrap_or(probe);
    let mut finding = scene::about_handler(rule, pod, handler, span, message);
    if env.is_some() {
        let asks = pod.workload.object.label_at(probe, beside);
        finding.related.insert(0, asks);
    }
    finding
}

/// Starts a finding about the prober env of a pod.
pub(super) fn about_pod(rule: &Rule, pod: &WorkloadPrediction<'_>, message: String) -> Finding {
    let workload = &pod.workload;
    let place = line(pod).or_else(|| name(workload).map(NodeRef::span));
    let span = place.unwrap_or_else(|| workload.object.name_span());
    scene::about_workload(rule, workload, span, message)
}

/// The name of the variable in the sidecar's env.
fn name<'t>(workload: &Workload<'t>) -> Option<NodeRef<'t>> {
    let variable = proxy_container(workload)?.env(keys::PROBERS_ENV)?;
    variable.node.get("name")
}

/// Returns the change that gives the variable another value; none where it stands in the annotation
/// with the proxy's configuration, which is a text of its own.
pub(super) fn with_value(pod: &WorkloadPrediction<'_>, value: String) -> Option<Change> {
    let env = pod.prober_env.as_ref()?;
    if env.place != ProberEnvPlace::Container {
        return None;
    }
    let variable = proxy_container(&pod.workload)?.env(keys::PROBERS_ENV)?;
    Some(Change::Set {
        route: variable.route.child("value"),
        value: Value::Str(value),
    })
}

/// Returns the fix that adds the opt-out, so that the injector leaves probes and prober env unchanged.
pub(super) fn opt_out(pod: &WorkloadPrediction<'_>) -> Fix {
    let key = keys::REWRITE_PROBERS;
    let change = Change::Set {
        route: pod.workload.template.annotation_route(key),
        value: Value::from("false"),
    };
    let title = format!("set `{key}` to \"false\": the probes then stay as they are written");
    let object = &pod.workload.object;
    scene::fix(object, title, Applicability::Unsafe, vec![change])
}
