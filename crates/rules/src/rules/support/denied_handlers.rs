//! Findings about handlers that an `AuthorizationPolicy` denies.

use meshprobe_mesh::finding::{Applicability, Certainty, Finding, Severity};
use meshprobe_predict::context::{AuthzDenial, DenialReason};
use meshprobe_predict::predict::HandlerPrediction;
use meshprobe_yaml::NodeRef;

use crate::rules::support::enable_rewrite;
use crate::rules::{Rule, RuleContext};

/// Returns a finding for every handler that a policy denies for the reason `by`.
pub(in crate::rules) fn findings(
    cx: &RuleContext<'_, '_>,
    rule: &Rule,
    by: DenialReason,
    message: impl Fn(&HandlerPrediction<'_>, &AuthzDenial<'_>) -> String,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, handler) in cx.handlers() {
        let Some(denial) = handler.authz_denial(cx.context, pod) else {
            continue;
        };
        if denial.reason != by {
            continue;
        }
        let span = handler.handler.key.span();
        let message = message(handler, &denial);
        let mut finding = rule.finding_on_handler(pod, handler, span, message);
        if let Some(key) = denial.rule.and_then(first_key) {
            let message = match by {
                DenialReason::FieldsLost => "this rule has HTTP fields",
                DenialReason::Deny | DenialReason::NoAllow => "this rule matches",
            };
            let label = denial.policy.label_at(key.span(), message);
            let name = denial.policy.label_at(denial.policy.name_span(), "");
            if by == DenialReason::Deny {
                // The label of the rule replaces the one of the policy's name.
                finding.related.retain(|label| !label.is_at(&name));
            }
            finding.related.insert(0, label);
        }
        if by == DenialReason::FieldsLost
            && let Some(port) = handler.port
        {
            let protocol = cx.context.services(&pod.workload).protocol(port);
            finding.depend_on(&protocol);
        }
        enable_rewrite::add_fix(cx, pod, &mut finding);
        findings.push(finding);
    }
    findings
}

/// Returns a warning for every handler for which only the cluster decides whether a policy denies it. `denies`
/// selects the reason: a rule may deny the handler (`true`), or possibly no rule allows it (`false`).
pub(in crate::rules) fn undecidable_findings(
    cx: &RuleContext<'_, '_>,
    rule: &Rule,
    denies: bool,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, handler) in cx.handlers() {
        let undecidable = handler.undecidable_policy(cx.context, pod);
        let Some(undecidable) = undecidable.filter(|undecidable| undecidable.denies == denies)
        else {
            continue;
        };
        let message = format!(
            "{} may fail: cannot evaluate AuthorizationPolicy `{}`, which depends on {}",
            handler.title(),
            undecidable.policy.name(),
            undecidable.on,
        );
        let span = handler.handler.key.span();
        let mut finding = rule.finding_on_handler(pod, handler, span, message);
        finding.severity = finding.severity.min(Severity::Warning);
        finding.certainty = Certainty::Unknown;
        if let Some(key) = first_key(undecidable.rule) {
            let label = undecidable
                .policy
                .label_at(key.span(), "this rule may match");
            finding.related.insert(0, label);
        }
        enable_rewrite::add_fix(cx, pod, &mut finding);
        if let Some(fix) = &mut finding.fix {
            // Never auto-fix an uncertain finding.
            fix.limit_to(Applicability::display_only_because(format!(
                "it is not known whether AuthorizationPolicy `{}` denies the request",
                undecidable.policy.name(),
            )));
        }
        findings.push(finding);
    }
    findings
}

/// Returns the start of a message: "readinessProbe of container `web` will fail".
pub(in crate::rules) fn outcome_text(handler: &HandlerPrediction<'_>) -> String {
    let outcome = if handler.handler.slot.is_lifecycle() {
        "will be refused"
    } else {
        "will fail"
    };
    format!("{} {outcome}", handler.title())
}

/// Returns the first key of a rule: `from`, `to` or `when`.
fn first_key(rule: NodeRef<'_>) -> Option<NodeRef<'_>> {
    rule.effective_entries().first().map(|entry| entry.key)
}
