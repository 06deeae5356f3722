//! Rule `http-probe-host-rewritten`, documented in `docs/rules/http-probe-host-rewritten.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::{Mesh, shared_faults};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::Change;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "http-probe-host-rewritten", Error, fix: Always, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let of_istio = cx.handlers().filter(|(_, handler)| {
        handler.verdict.cause == Cause::HostKept && !handler.handler.slot.is_lifecycle()
    });
    let of_other_meshes = cx.handlers().filter(|(pod, handler)| {
        let is_kept = handler.verdict.cause == Cause::Other(&shared_faults::HOST_KEPT);
        is_kept && pod.mesh.value != Some(Mesh::OSM)
    });
    of_istio
        .chain(of_other_meshes)
        .map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let host = match &handler.handler.action {
        Ok(action) => action.host().unwrap_or_default(),
        Err(_) => "",
    };
    let message = format!(
        "{} will fail: the rewrite keeps `host`, so the kubelet sends the request to `{host}:{}` \
         instead of the pod",
        handler.title(),
        handler
            .rewritten_to
            .as_ref()
            .map_or(pod.status_port.value, |rewritten_to| rewritten_to.port),
    );
    let span = handler.handler.field_span("host");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    let help = "remove `host`, and set the header `Host` if the application needs a host name";
    finding.help = Some(if handler.verdict.cause == Cause::HostKept {
        format!(
            "{help}; to keep checking `{host}`, turn the rewrite off with `{}: \"false\"`",
            keys::REWRITE_PROBERS
        )
    } else {
        help.to_owned()
    });
    let object = &pod.workload.object;
    finding.fix = Some(Fix::of_object(
        object,
        "remove `host`: the kubelet then checks the pod".to_owned(),
        Applicability::unsafe_because(format!("the probe then checks the pod instead of `{host}`")),
        vec![Change::Remove {
            route: handler.handler.route.child("httpGet").child("host"),
        }],
    ));
    finding
}
