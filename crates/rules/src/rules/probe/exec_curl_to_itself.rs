//! Rule `exec-curl-to-itself`, documented in `docs/rules/exec-curl-to-itself.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::{Object, self_request};
use meshprobe_mesh::mesh::Fact;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Change, Entry, Value};

use crate::rules::RuleContext;
use crate::rules::peer_authentication::legacy_auth_annotation;
use crate::rules::rule::declare_rule;

declare_rule! {
    "exec-curl-to-itself", Note, fix: Always, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(cx, pod, handler))
        .collect()
}

fn report<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<Finding> {
    let request = self_request(&handler.handler)?;
    let legacy = legacy_service(cx, pod);
    let in_mesh = pod.dataplane.value == Dataplane::Sidecar;
    let why = match pod.dataplane.value {
        Dataplane::Sidecar if pod.rewrite.value => "the agent makes the check",
        Dataplane::Unknown if pod.rewrite.value && legacy.is_some() => "the agent makes the check",
        Dataplane::None if legacy.is_some() => "no proxy captures the request",
        _ => return None,
    };
    if handler.handler.slot.is_lifecycle() {
        return None;
    }
    let message = format!(
        "{} runs `{}` against port {} of the same pod, although `httpGet` is sufficient: {why}",
        handler.title(),
        request.tool,
        request.port,
    );
    let span = handler.handler.kind_span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.outcome = None;
    if in_mesh {
        finding.depend_on(&pod.dataplane);
    } else if let Some((service, entry)) = legacy {
        let message = "this annotation dates from before Istio rewrote probes";
        finding
            .related
            .push(service.label_at(entry.key.span(), message));
        if pod.dataplane.value == Dataplane::Unknown {
            let assumption = "the pods are part of the mesh";
            let settle = Some("--assume injection=all|none");
            finding.depend_on(&Fact::assumed((), assumption, settle));
        }
    }
    finding.help = Some("use `httpGet`".to_owned());
    let mut fields = vec![
        ("path".to_owned(), Value::from(request.path.as_str())),
        ("port".to_owned(), Value::Int(i64::from(request.port))),
    ];
    if request.https {
        fields.push(("scheme".to_owned(), Value::from("HTTPS")));
    }
    let change = Change::Replace {
        route: handler.handler.route.child("exec"),
        key: "httpGet".to_owned(),
        value: Value::Map(fields),
    };
    let title = "replace `exec` by `httpGet`";
    let object = &pod.workload.object;
    let changes = vec![change];
    finding.fix = Some(Fix::of_object(
        object,
        title,
        Applicability::unsafe_because(
            "`httpGet` targets the address of the pod, where an application that listens only on 127.0.0.1 is not reached",
        ),
        changes,
    ));
    Some(finding)
}

/// Returns a Service of the pods that has an annotation `auth.istio.io/PORT`, with the annotation.
fn legacy_service<'s, 't>(
    cx: &RuleContext<'s, 't>,
    pod: &'s WorkloadPrediction<'t>,
) -> Option<(&'s Object<'t>, Entry<'t>)> {
    cx.context
        .services(&pod.workload)
        .ports()
        .into_iter()
        .map(|(service, _, _)| service)
        .find_map(|service| Some((service, legacy_auth_annotation::first(service)?)))
}
