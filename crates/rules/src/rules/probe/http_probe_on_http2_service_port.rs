//! Rule `http-probe-on-http2-service-port`, documented in `docs/rules/http-probe-on-http2-service-port.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_predict::predict::Cause;

use crate::rules::RuleContext;
use crate::rules::probe::service_protocol;
use crate::rules::rule::declare_rule;

declare_rule! {
    "http-probe-on-http2-service-port", Warning, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| {
            handler.verdict.cause == Cause::HttpAtHttp2Port && service_protocol::decides(handler)
        })
        .map(|(pod, handler)| {
            let message = format!(
                "{} will fail unless the application supports HTTP/2 without TLS: {} declares port {} \
                 as HTTP/2, so the sidecar sends HTTP/2",
                handler.title(),
                service_protocol::service(cx, pod, handler),
                handler.port.unwrap_or_default(),
            );
            let help = "name the Service port `http-…`, or remove the protocol from its name";
            service_protocol::finding(&RULE, cx, (pod, handler), message, help)
        })
        .collect()
}
