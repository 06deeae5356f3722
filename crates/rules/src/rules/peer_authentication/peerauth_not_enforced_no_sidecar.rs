//! Rule `peerauth-not-enforced-no-sidecar`, documented in `docs/rules/peerauth-not-enforced-no-sidecar.md`.

use meshprobe_mesh::finding::{Certainty, Finding};
use meshprobe_mesh::kube::{Object, PeerAuthentication};
use meshprobe_predict::context::{Dataplane, PolicyScope};
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::policy_pods::PolicyPodsCache;

declare_rule! {
    "peerauth-not-enforced-no-sidecar", Warning, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut policy_pods = PolicyPodsCache::default();
    cx.context
        .inventory
        .peer_authentications
        .iter()
        .filter_map(|policy| report(cx, policy, &mut policy_pods))
        .collect()
}

fn report<'s, 't>(
    cx: &RuleContext<'s, 't>,
    policy: &Object<'t>,
    policy_pods: &mut PolicyPodsCache<'s, 't>,
) -> Option<Finding> {
    let context = cx.context;
    let mode = PeerAuthentication::of(policy).mode()?.value;
    let policy_scope = context.istio_policy(policy).scope();
    if mode.text() != Some("STRICT")
        || !matches!(
            policy_scope,
            PolicyScope::Namespace | PolicyScope::Workloads
        )
    {
        return None;
    }
    let reached = policy_pods.of(cx, policy, policy_scope);
    let first = reached.pods.first()?;
    // Only facts of the tree count, not those of options.
    let is_out = |pod: &WorkloadPrediction<'_>| {
        let dataplane = &pod.dataplane;
        dataplane.value == Dataplane::None
            && dataplane.certainty > Certainty::Assumed
            && dataplane
                .because
                .iter()
                .any(|reason| reason.place.is_some())
    };
    if !reached.all_are(is_out) {
        return None;
    }
    // Operators create pods of the namespace that the tree does not contain.
    let injection = context.istio(&first.workload).injection();
    if policy_scope == PolicyScope::Namespace && injection.is_per_pod() {
        return None;
    }
    let subject = match (policy_scope, reached.pods.as_slice()) {
        (PolicyScope::Workloads, [only]) => format!("{} has", only.workload.title()),
        (PolicyScope::Workloads, _) => "no selected pod has".to_owned(),
        _ => {
            let namespace = context.namespace_of(policy).name;
            format!("no pod of namespace `{namespace}` has")
        }
    };
    let has = if reached.pods.len() == 1 && policy_scope == PolicyScope::Workloads {
        "neither a sidecar nor ambient mode"
    } else {
        "a sidecar or ambient mode"
    };
    let message = format!("`STRICT` is not enforced: {subject} {has}, so plain text is accepted");
    let mut finding = RULE.finding_on_object(policy, mode.span(), message);
    finding.field = Some("spec.mtls.mode".to_owned());
    finding.depend_on(&first.dataplane);
    let help = "set `istio-injection: enabled` on the Namespace to have the pods injected, or remove the \
                policy";
    finding.help = Some(help.to_owned());
    Some(finding)
}
