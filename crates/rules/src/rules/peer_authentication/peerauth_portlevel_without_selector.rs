//! Rule `peerauth-portlevel-without-selector`, documented in
//! `docs/rules/peerauth-portlevel-without-selector.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::{Object, PeerAuthentication};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "peerauth-portlevel-without-selector", Error, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.context
        .inventory
        .peer_authentications
        .iter()
        .filter_map(report)
        .collect()
}

fn report(policy: &Object<'_>) -> Option<Finding> {
    let view = PeerAuthentication::of(policy);
    let ports = view.ports_entry()?;
    if view.has_selector() || ports.value.effective_entries().is_empty() {
        return None;
    }
    let message = format!(
        "the API server refuses PeerAuthentication `{}`: `portLevelMtls` requires a selector, and \
         this policy selects no workload",
        policy.name()
    );
    let mut finding = RULE.finding_on_object(policy, ports.key.span(), message);
    finding.field = Some("spec.portLevelMtls".to_owned());
    if let Some(selector) = view.selector_entry() {
        let message = "this selector has no label";
        finding
            .related
            .push(policy.label_at(selector.key.span(), message));
    }
    finding.help = Some("add the labels of the pods to `spec.selector.matchLabels`".to_owned());
    Some(finding)
}
