//! Rule `rewrite-off-before-1-6`, documented in `docs/rules/rewrite-off-before-1-6.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::Version;
use meshprobe_predict::predict::{Cause, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::rewrite_off;

/// The first release whose charts turn the rewrite on by default; istioctl does since 1.6 (source: Istio 1.7,
/// the charts' `values.yaml`).
const ON_SINCE: Version = Version::new(1, 7);

declare_rule! {
    "rewrite-off-before-1-6", Warning, fix: Always, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    rewrite_off::report(
        &RULE,
        cx,
        |pod, handler| {
            let cause = handler.verdict.cause;
            matches!(cause, Cause::PlaintextAtStrict | Cause::HttpsAtStrict)
                && release(pod).is_some()
        },
        |pod, handler| {
            let release = release(pod).map_or_else(String::new, |release| release.to_string());
            format!(
                "{} will fail: Istio {release} does not rewrite probes by default, and port {} requires \
                 mutual TLS (STRICT)",
                handler.title(),
                handler.port_for_message(),
            )
        },
    )
}

/// Returns the release if it is the reason that the rewrite is off, because no file turns it on or off.
pub(in crate::rules) fn release(pod: &WorkloadPrediction<'_>) -> Option<Version> {
    let release = pod.release.value.filter(|release| *release < ON_SINCE)?;
    let is_written = pod
        .rewrite
        .because
        .iter()
        .any(|reason| reason.place.is_some());
    (pod.passes_injector && !pod.rewrite.value && !is_written).then_some(release)
}
