//! Rule `https-probe-strict`, documented in `docs/rules/https-probe-strict.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_predict::predict::Cause;

use crate::rules::RuleContext;
use crate::rules::probe_rewriting::rewrite_off_before_1_6;
use crate::rules::rule::declare_rule;
use crate::rules::support::rewrite_off;

declare_rule! {
    "https-probe-strict", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    rewrite_off::report(
        &RULE,
        cx,
        |pod, handler| {
            handler.verdict.cause == Cause::HttpsAtStrict
                && rewrite_off_before_1_6::release(pod).is_none()
        },
        |_, handler| {
            format!(
                "{} will fail: its TLS connection ends at the sidecar, which requires a client \
                 certificate on port {} (STRICT)",
                handler.title(),
                handler.port_for_message(),
            )
        },
    )
}
