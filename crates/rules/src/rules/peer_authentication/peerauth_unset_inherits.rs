//! Rule `peerauth-unset-inherits`, documented in `docs/rules/peerauth-unset-inherits.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::{Object, PeerAuthentication};
use meshprobe_predict::context::PolicyScope;
use meshprobe_yaml::Entry;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "peerauth-unset-inherits", Note, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.context
        .inventory
        .peer_authentications
        .iter()
        .filter_map(|policy| report(cx, policy))
        .collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, policy: &Object<'t>) -> Option<Finding> {
    let view = PeerAuthentication::of(policy);
    let is_unreadable = |mtls: Entry<'t>| !mtls.value.is_mapping() && !mtls.value.is_null();
    // Another tool fills it in, or the API server rejects it.
    if view.mtls_entry().is_some_and(is_unreadable) {
        return None;
    }
    let is_set = |mode: Option<Entry<'t>>| {
        mode.is_some_and(|mode| !mode.value.is_null() && mode.value.text() != Some("UNSET"))
    };
    if is_set(view.mode()) || view.ports().any(|port| is_set(port.mode)) {
        return None;
    }
    let policy_scope = cx.context.istio_policy(policy).scope();
    let namespace = cx.context.namespace_of(policy).name;
    let scope = match policy_scope {
        PolicyScope::Mesh => "the mesh".to_owned(),
        PolicyScope::Namespace => format!("namespace `{namespace}`"),
        PolicyScope::Workloads => "its workloads".to_owned(),
        PolicyScope::None => return None,
    };
    let inherited = cx.context.istio_policy(policy).inherited_mtls(policy_scope);
    let message = format!(
        "PeerAuthentication `{}` sets no mode: {scope} keeps `{}`, as without the policy",
        policy.name(),
        inherited.value.as_str(),
    );
    let message = message.replace("its workloads keeps", "its workloads keep");
    let spec = policy.node.entry("spec").map(|spec| spec.key.span());
    let span = match (view.mode(), view.mtls_entry()) {
        (Some(mode), _) if !mode.value.is_null() => mode.value.span(),
        (_, Some(mtls)) => mtls.key.span(),
        _ => spec.unwrap_or_else(|| policy.name_span()),
    };
    let mut finding = RULE.finding_on_object(policy, span, message);
    finding.field = Some("spec.mtls.mode".to_owned());
    finding.depend_on(&inherited);
    finding.help = Some("set `spec.mtls.mode`, or remove the policy".to_owned());
    Some(finding)
}
