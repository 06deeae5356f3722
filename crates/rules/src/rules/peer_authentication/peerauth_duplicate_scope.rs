//! Rule `peerauth-duplicate-scope`, documented in `docs/rules/peerauth-duplicate-scope.md`.

use meshprobe_mesh::finding::{Certainty, Finding};
use meshprobe_mesh::kube::Object;
use meshprobe_predict::context::ConflictingPolicies;

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

fn report(conflict: &ConflictingPolicies<'_, '_>) -> Option<Finding> {
    let (last, others) = conflict.policies.split_last()?;
    let names: Vec<String> = others
        .iter()
        .map(|policy| format!("`{}`", policy.name()))
        .collect();
    let are_joined = are_deployed_together(&conflict.policies);
    let condition = match are_joined {
        true => "",
        false => " if their files are deployed to one cluster",
    };
    let message = format!(
        "PeerAuthentications {} and `{}` both apply to {}{condition}: Istio uses only the oldest one, and no \
         file shows which one is the oldest",
        names.join(", "),
        last.name(),
        conflict.scope,
    );
    let mut finding = RULE.finding_on_object(last, last.name_span(), message);
    if !are_joined {
        finding.severity = finding.severity.lowered();
        finding.certainty = Certainty::Assumed;
    }
    for policy in others {
        let message = format!("this policy also applies to {}", conflict.scope);
        finding
            .related
            .push(policy.label_at(policy.name_span(), message));
    }
    finding.help = Some("merge them into one policy".to_owned());
    Some(finding)
}

/// Returns whether the policies are in one file, or a kustomization or a deployment includes each of them. The other
/// files of a folder may be alternatives, such as examples and tests.
fn are_deployed_together(policies: &[&Object<'_>]) -> bool {
    let is_single = policies.windows(2).all(|pair| match pair {
        [one, other] => one.path() == other.path(),
        _ => true,
    });
    let is_included =
        |policy: &&Object<'_>| policy.overlay.is_some() || policy.rendered_by.is_some();
    is_single || policies.iter().all(is_included)
}
