//! Rules about the requests that commands of probes send.

use meshprobe_mesh::finding::{Applicability, Finding, Fix, Sentence};
use meshprobe_mesh::kube::{ExecKind, Object, exec_calls, self_request};
use meshprobe_mesh::mesh::Fact;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Change, Entry, Value};

use crate::rules::support::verdicts;
use crate::rules::{RuleContext, legacy_authentication};

crate::rules::rule::rules! {
    EXEC_CURL_TO_ITSELF = "exec-curl-to-itself", Note, fix: Always, scope: Workloads,
        |cx| cx.each_handler(|pod, handler| exec_curl_to_itself(cx, pod, handler));
    EXEC_PROBE_THROUGH_SIDECAR = "exec-probe-through-sidecar", Note, fix: None, scope: Workloads,
        |cx| cx.each_handler(exec_probe_through_sidecar);
    EXEC_TCP_THROUGH_SERVICE = "exec-tcp-through-service", Error, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &EXEC_TCP_THROUGH_SERVICE, None, &[
            (Cause::OutboundAccepted, "",
            |_, handler| {
                let calls = exec_calls(&handler.handler);
                let host = calls.first().map_or("", |call| call.host.as_str());
                let port = calls.first().and_then(|call| call.port).unwrap_or_default();
                format!("always succeeds: the sidecar accepts its connection to `{host}:{port}` even if the application is \
                down").into()
            },
            "connect to 127.0.0.1, which bypasses the sidecar, or send a request and check the response"),
        ]);
}

fn exec_curl_to_itself<'t>(
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
    let sentence = Sentence::verb(("runs", "run"), format!(" `{}` against ", request.tool)).port(
        i64::from(request.port),
        format!(" of the same pod, although `httpGet` is sufficient: {why}"),
    );
    let span = handler.handler.kind_span();
    let mut finding = EXEC_CURL_TO_ITSELF.finding_on_handler(pod, handler, span, sentence);
    finding.outcome = None;
    if in_mesh {
        finding.depend_on(&pod.dataplane);
    } else if let Some((service, entry)) = legacy {
        let message = "this annotation dates from before Istio rewrote probes";
        finding.relate(service.label_at(entry.key.span(), message));
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
    let change = Change::replace(
        handler.handler.route.child("exec"),
        "httpGet".to_owned(),
        Value::Map(fields),
    );
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
        .find_map(|service| {
            Some((
                service,
                legacy_authentication::first_legacy_annotation(service)?,
            ))
        })
}

fn exec_probe_through_sidecar(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    if pod.dataplane.value != Dataplane::Sidecar || handler.handler.slot.is_lifecycle() {
        return None;
    }
    let calls = exec_calls(&handler.handler);
    let call = calls.iter().find(|call| call.kind == ExecKind::Request)?;
    let sentence = Sentence::each(format!(
        "sends its request to `{}` through the sidecar, so it depends on the mesh and not only on the application",
        call.host
    ));
    let span = handler.handler.kind_span();
    let mut finding = EXEC_PROBE_THROUGH_SIDECAR.finding_on_handler(pod, handler, span, sentence);
    finding.outcome = None;
    finding.depend_on(&pod.dataplane);
    finding.help = Some("use `httpGet`, or send the request to 127.0.0.1".to_owned());
    Some(finding)
}
