//! Rule `authz-blocks-probe`, documented in `docs/rules/authz-blocks-probe.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_predict::context::{DenialReason, MismatchReason};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::denied_handlers;

declare_rule! {
    "authz-blocks-probe", Error, fix: Always, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut findings =
        denied_handlers::findings(cx, &RULE, DenialReason::NoAllow, |handler, denial| {
            format!(
                "{}: no rule of AuthorizationPolicy `{}` allows it{}",
                denied_handlers::outcome_text(handler),
                denial.policy.name(),
                match &denial.mismatch {
                    MismatchReason::Identity | MismatchReason::AllCallers => {
                        ", and the kubelet has no identity in the mesh".to_owned()
                    }
                    MismatchReason::Token => {
                        ", and the kubelet does not send a JSON Web Token".to_owned()
                    }
                    MismatchReason::NoRule => ", because the policy has no rule".to_owned(),
                    MismatchReason::Fields(fields) => {
                        format!(", because it does not match `{}`", fields.join("` and `"))
                    }
                },
            )
        });
    findings.extend(denied_handlers::undecidable_findings(cx, &RULE, false));
    findings
}
