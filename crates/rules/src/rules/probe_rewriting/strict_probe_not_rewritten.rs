//! Rule `strict-probe-not-rewritten`, documented in `docs/rules/strict-probe-not-rewritten.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_predict::predict::Cause;

use crate::rules::RuleContext;
use crate::rules::probe_rewriting::rewrite_off_before_1_6;
use crate::rules::rule::declare_rule;
use crate::rules::support::rewrite_off;

declare_rule! {
    "strict-probe-not-rewritten", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    rewrite_off::report(
        &RULE,
        cx,
        |pod, handler| {
            handler.verdict.cause == Cause::PlaintextAtStrict
                && rewrite_off_before_1_6::release(pod).is_none()
        },
        |_, handler| {
            format!(
                "{} will fail: port {} requires mutual TLS (STRICT), and the probe is not rewritten",
                handler.title(),
                handler.port_for_message(),
            )
        },
    )
}
