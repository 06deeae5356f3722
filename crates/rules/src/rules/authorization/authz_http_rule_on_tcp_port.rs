//! Rule `authz-http-rule-on-tcp-port`, documented in `docs/rules/authz-http-rule-on-tcp-port.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_predict::context::DenialReason;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::denied_handlers;

declare_rule! {
    "authz-http-rule-on-tcp-port", Warning, failure: true, fix: Always, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let by = DenialReason::FieldsLost;
    let mut findings = denied_handlers::findings(cx, &RULE, by, |handler, denial| {
        format!(
            "{}: the sidecar forwards port {} as TCP, not HTTP, and AuthorizationPolicy `{}` has rules \
             with HTTP fields",
            denied_handlers::outcome_text(handler),
            handler.port.unwrap_or_default(),
            denial.policy.name(),
        )
    });
    for finding in &mut findings {
        let help = "turn the probe rewrite on; for plain HTTP, name the Service port `http-…`";
        finding.help.get_or_insert_with(|| help.to_owned());
    }
    findings
}
