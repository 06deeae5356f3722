//! Rule `https-probe-on-http-service-port`, documented in `docs/rules/https-probe-on-http-service-port.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_predict::predict::Cause;

use crate::rules::RuleContext;
use crate::rules::probe::service_protocol;
use crate::rules::rule::declare_rule;

declare_rule! {
    "https-probe-on-http-service-port", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| {
            handler.verdict.cause == Cause::HttpsAtHttpPort && service_protocol::decides(handler)
        })
        .map(|(pod, handler)| {
            let message = format!(
                "{} will fail: {} declares port {} as HTTP, so the sidecar does not forward TLS on it",
                handler.title(),
                service_protocol::service(cx, pod, handler),
                handler.port.unwrap_or_default(),
            );
            let help = "name the Service port `https-…`, or set `appProtocol: https`";
            service_protocol::finding(&RULE, cx, (pod, handler), message, help)
        })
        .collect()
}
