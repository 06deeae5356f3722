//! Helpers of the rules about pre-rewritten pods.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::Workload;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::{ProberEnvPlace, proxy_container};
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Change, NodeRef, Span, Value};

use crate::rules::Rule;

/// Returns the span of the prober env; `None` if its value has several lines.
fn line(pod: &WorkloadPrediction<'_>) -> Option<Span> {
    let text = pod.workload.template.node.tree().text();
    let env = pod.prober_env.as_ref().map(|env| env.span);
    env.filter(|span| !span.slice(text).contains('\n'))
}

/// Creates a finding about a handler that points at the prober env, which causes the fault. `label` is the
/// message of the label at the handler.
pub(in crate::rules) fn finding_on_handler(
    rule: &Rule,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    message: String,
    label: &str,
) -> Finding {
    let probe = match handler.agent_path() {
        Some(_) => handler.handler.field_span("path"),
        None => handler.handler.key.span(),
    };
    let env = line(pod);
    let span = env.unwrap_or(probe);
    let mut finding = rule.finding_on_handler(pod, handler, span, message);
    if env.is_some() {
        let label = pod.workload.object.label_at(probe, label);
        finding.related.insert(0, label);
    }
    finding
}

/// Creates a finding about the prober env of a pod.
pub(in crate::rules) fn finding_on_pod(
    rule: &Rule,
    pod: &WorkloadPrediction<'_>,
    message: String,
) -> Finding {
    let workload = &pod.workload;
    let place = line(pod).or_else(|| name(workload).map(NodeRef::span));
    let span = place.unwrap_or_else(|| workload.object.name_span());
    rule.finding_on_workload(workload, span, message)
}

/// Returns the name of the variable in the env of the sidecar.
fn name<'t>(workload: &Workload<'t>) -> Option<NodeRef<'t>> {
    let variable = proxy_container(workload)?.env(keys::PROBERS_ENV)?;
    variable.node.get("name")
}

/// Returns the change that sets the variable to another value; `None` if the variable is in the annotation
/// with the proxy configuration, which the annotation contains as text.
pub(in crate::rules) fn set_value(pod: &WorkloadPrediction<'_>, value: String) -> Option<Change> {
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
pub(in crate::rules) fn opt_out_fix(pod: &WorkloadPrediction<'_>) -> Fix {
    let key = keys::REWRITE_PROBERS;
    let change = Change::Set {
        route: pod.workload.template.annotation_route(key),
        value: Value::from("false"),
    };
    let title = format!("set `{key}` to \"false\": the probes then stay unchanged");
    let object = &pod.workload.object;
    let applicability = Applicability::unsafe_because(format!(
        "handlers without an entry in `{}` then reach the application unchanged",
        keys::PROBERS_ENV
    ));
    Fix::of_object(object, title, applicability, vec![change])
}
