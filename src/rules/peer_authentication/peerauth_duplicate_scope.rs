//! Rule `peerauth-duplicate-scope`, documented in `docs/rules/peerauth-duplicate-scope.md`.

use crate::context::ConflictingPolicies;
use crate::finding::Finding;
use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "peerauth-duplicate-scope", Warning, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.context
        .peer_authentications()
        .conflicts()
        .iter()
        .filter_map(report)
        .collect()
}

fn report(rivals: &ConflictingPolicies<'_, '_>) -> Option<Finding> {
    let (last, others) = rivals.policies.split_last()?;
    let names: Vec<String> = others
        .iter()
        .map(|policy| format!("`{}`", policy.name()))
        .collect();
    let message = format!(
        "PeerAuthentications {} and `{}` both apply to {}: Istio uses only the oldest one, and no \
         file shows which one is the oldest",
        names.join(", "),
        last.name(),
        rivals.scope,
    );
    let mut finding = RULE.finding_on_object(last, last.name_span(), message);
    for policy in others {
        let message = format!("this policy also applies to {}", rivals.scope);
        finding
            .related
            .push(policy.label_at(policy.name_span(), message));
    }
    finding.help = Some("merge them into one policy".to_owned());
    Some(finding)
}
