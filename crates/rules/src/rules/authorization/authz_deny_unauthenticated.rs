//! Rule `authz-deny-unauthenticated`, documented in `docs/rules/authz-deny-unauthenticated.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_predict::context::{DenialReason, MismatchReason};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::denied_handlers;

declare_rule! {
    "authz-deny-unauthenticated", Error, fix: Always, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut findings =
        denied_handlers::findings(cx, &RULE, DenialReason::Deny, |handler, denial| {
            format!(
                "{}: a DENY rule of AuthorizationPolicy `{}` matches {}",
                denied_handlers::outcome_text(handler),
                denial.policy.name(),
                match denial.mismatch {
                    MismatchReason::AllCallers => "every client",
                    MismatchReason::Token => "the kubelet, which does not send a JSON Web Token",
                    _ => "the kubelet, which has no identity in the mesh",
                },
            )
        });
    findings.extend(denied_handlers::undecidable_findings(cx, &RULE, true));
    findings
}
