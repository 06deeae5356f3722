//! Rule `probe-protocol-unsupported`, documented in `docs/rules/probe-protocol-unsupported.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_predict::predict::{
    Cause, HandlerPrediction, UnsupportedProtocol, WorkloadPrediction, unsupported_protocol,
};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "probe-protocol-unsupported", Warning, failure: true, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::ProtocolUnsupported)
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let protocol = unsupported_protocol(&handler.handler)?;
    let (effect, help) = match protocol {
        UnsupportedProtocol::Http2 => (
            "fails unless the application accepts HTTP/1.1, which the agent sends: `protocol: HTTP2` is lost",
            "use an `exec` probe if the application does not also serve HTTP/1.1",
        ),
        UnsupportedProtocol::GrpcTls => (
            "fails: the agent calls gRPC without TLS, and `mode: TLS` is lost",
            "use an `exec` probe, or serve the health service without TLS on a port of its own",
        ),
    };
    let message = format!("{} {effect}", handler.title());
    let span = handler.handler.field_span(protocol.field());
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.help = Some(help.to_owned());
    Some(finding)
}
