//! Rule `probe-field-invalid`, documented in `docs/rules/probe-field-invalid.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::{RejectionKind, Unreadable, refused_number};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::FieldPath;

use crate::rules::RuleContext;
use crate::rules::pre_rewritten::yaml11_header_value::culprit;
use crate::rules::rule::declare_rule;

declare_rule! {
    "probe-field-invalid", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| culprit(&handler.handler).is_none())
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let (span, within, reason) = match &handler.handler.action {
        Err(Unreadable::Malformed(error)) => (
            error.span,
            error.route.clone(),
            describe_types(&error.message),
        ),
        Err(Unreadable::Placeholder(_)) => return None,
        Ok(_) if handler.verdict.cause == Cause::HookUnsupported => {
            return Some(never_runs(pod, handler));
        }
        Ok(_) => {
            let refusal = handler
                .api_rejection()
                .filter(|refusal| refusal.kind == RejectionKind::Field)?;
            let number = refused_number(&handler.handler);
            let span = match number {
                Some((node, _)) => node.span(),
                None if refusal.field.is_empty() => handler.handler.key.span(),
                None => handler.handler.field_span(refusal.field),
            };
            (span, FieldPath::root(), refusal.reason)
        }
    };
    let message = format!("the API server refuses {}: {reason}", handler.title());
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.field = Some(handler.handler.within.join(&within).to_string());
    finding.help = Some("correct the field; the API server refuses the whole object".to_owned());
    Some(finding)
}

/// Returns the finding of a `tcpSocket` hook: the API server accepts it, but the kubelet does not run it.
fn never_runs(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let message = format!(
        "{} always fails: the kubelet does not support `tcpSocket` hooks",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.help = Some("use `httpGet`, `exec` or `sleep`".to_owned());
    finding
}

/// Replaces the names of the API's types in a message by words.
fn describe_types(message: &str) -> String {
    let message = message.replace(
        "expected IntOrString",
        "expected a port number or a port name",
    );
    message.replace("expected i32", "expected an integer")
}
