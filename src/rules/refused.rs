//! Findings about handlers that an `AuthorizationPolicy` refuses.

use crate::context::{Refusal, RefusedBy};
use crate::finding::{Applicability, Certainty, Finding, Severity};
use crate::predict::HandlerPrediction;
use crate::yaml::NodeRef;

use super::{Rule, Scene, enable_rewrite, scene};

/// Returns a finding for every handler that is refused for this reason.
pub(super) fn all(
    scene: &Scene<'_, '_>,
    rule: &Rule,
    by: RefusedBy,
    message: impl Fn(&HandlerPrediction<'_>, &Refusal<'_>) -> String,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, handler) in scene.handlers() {
        let Some(refusal) = handler.refusal(scene.context, pod) else {
            continue;
        };
        if refusal.by != by {
            continue;
        }
        let span = handler.handler.key.span();
        let said = message(handler, &refusal);
        let mut finding = scene::about_handler(rule, pod, handler, span, said);
        if let Some(key) = refusal.rule.and_then(first_key) {
            let said = match by {
                RefusedBy::FieldsLost => "this rule speaks of HTTP",
                RefusedBy::Deny | RefusedBy::NoAllow => "this rule matches",
            };
            let place = refusal.policy.label_at(key.span(), said);
            let name = refusal.policy.label_at(refusal.policy.name_span(), "");
            if by == RefusedBy::Deny {
                // The rule says more than the name of its policy.
                finding.related.retain(|label| !label.is_at(&name));
            }
            finding.related.insert(0, place);
        }
        if by == RefusedBy::FieldsLost
            && let Some(port) = handler.port
        {
            let protocol = scene.context.protocol(&pod.workload, port);
            scene::rest_on_fact(&mut finding, &protocol);
        }
        enable_rewrite::offer(scene, pod, &mut finding);
        findings.push(finding);
    }
    findings
}

/// Returns a warning for every handler of which only the cluster tells whether a policy refuses it: by
/// a rule that denies, or for want of one that allows.
pub(super) fn in_doubt(scene: &Scene<'_, '_>, rule: &Rule, denies: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, handler) in scene.handlers() {
        let doubt = handler.doubt(scene.context, pod);
        let Some(doubt) = doubt.filter(|doubt| doubt.denies == denies) else {
            continue;
        };
        let said = format!(
            "{} may fail: cannot evaluate AuthorizationPolicy `{}`, which depends on {}",
            handler.title(),
            doubt.policy.name(),
            doubt.on,
        );
        let span = handler.handler.key.span();
        let mut finding = scene::about_handler(rule, pod, handler, span, said);
        finding.severity = finding.severity.min(Severity::Warning);
        finding.certainty = Certainty::Unknown;
        if let Some(key) = first_key(doubt.rule) {
            let place = doubt.policy.label_at(key.span(), "this rule may match");
            finding.related.insert(0, place);
        }
        enable_rewrite::offer(scene, pod, &mut finding);
        if let Some(fix) = &mut finding.fix {
            // Nothing is mended of which nobody knows whether it is broken.
            fix.applicability = Applicability::DisplayOnly;
        }
        findings.push(finding);
    }
    findings
}

/// Says what becomes of a handler: "readinessProbe of container `web` will fail".
pub(super) fn fate(handler: &HandlerPrediction<'_>) -> String {
    let becomes = if handler.handler.slot.is_lifecycle() {
        "will be refused"
    } else {
        "will fail"
    };
    format!("{} {becomes}", handler.title())
}

/// The key that a rule starts with: `from`, `to`, `when`.
fn first_key(rule: NodeRef<'_>) -> Option<NodeRef<'_>> {
    rule.effective_entries().first().map(|entry| entry.key)
}
