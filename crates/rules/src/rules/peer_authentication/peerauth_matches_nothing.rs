//! Rule `peerauth-matches-nothing`, documented in `docs/rules/peerauth-matches-nothing.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::{Object, PeerAuthentication, Workload};
use meshprobe_predict::context::PolicyScope;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::Entry;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::policy_pods::PolicyPodsCache;
use crate::rules::support::similar_names;

declare_rule! {
    "peerauth-matches-nothing", Note, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let context = cx.context;
    let mut policy_pods = PolicyPodsCache::default();
    context
        .inventory
        .peer_authentications
        .iter()
        .filter(|policy| context.istio_policy(policy).scope() == PolicyScope::Workloads)
        .filter_map(|policy| report(cx, policy, &mut policy_pods))
        .collect()
}

fn report<'s, 't>(
    cx: &RuleContext<'s, 't>,
    policy: &Object<'t>,
    policy_pods: &mut PolicyPodsCache<'s, 't>,
) -> Option<Finding> {
    let context = cx.context;
    if !policy_pods
        .of(cx, policy, PolicyScope::Workloads)
        .pods
        .is_empty()
    {
        return None;
    }
    let reached = policy_pods.of(cx, policy, PolicyScope::Namespace);
    let pods: Vec<&Workload<'t>> = reached.pods.iter().map(|pod| &pod.workload).collect();
    let selector = PeerAuthentication::of(policy).selector_entry()?;
    let labels = selector.value.get("matchLabels")?;
    let has_label = |entry: &Entry<'t>, pod: &Workload<'t>| {
        let label = entry.key.text().and_then(|key| pod.template.label(key));
        let text = label.and_then(|label| label.value.text());
        text.is_some_and(|text| Some(text) == entry.value.text() || placeholder::contains(text))
    };
    let unmatched = labels
        .set_entries()
        .find(|entry| !pods.iter().any(|pod| has_label(entry, pod)))?;
    let (key, value) = (unmatched.key.text()?, unmatched.value.text()?);
    if is_set_by_controller(key)
        || placeholder::contains(value)
        || !context.istio_policy(policy).shows_pods()
    {
        return None;
    }
    let message = format!(
        "PeerAuthentication `{}` selects no pod: no pod of namespace `{}` in this tree has the label \
         `{key}: {value}`",
        policy.name(),
        context.namespace_of(policy).name,
    );
    let mut finding = RULE.finding_on_object(policy, unmatched.value.span(), message);
    finding.field = Some(format!("spec.selector.matchLabels.{key}"));
    let with_key = pods
        .iter()
        .filter_map(|pod| Some((pod, pod.template.label(key)?)));
    if let Some((pod, label)) = with_key.min_by_key(|(_, label)| {
        let text = label.value.text().unwrap_or_default();
        !similar_names::is_close(value, text)
    }) {
        let message = format!("{} has this value", pod.title());
        finding
            .related
            .push(pod.object.label_at(label.value.span(), message));
    }
    let help = "select a label of the pod template; labels of the Deployment itself do not count";
    finding.help = Some(help.to_owned());
    Some(finding)
}

/// Returns whether a controller sets a label on pods, so that no pod template contains it.
fn is_set_by_controller(key: &str) -> bool {
    let domain = key.split_once('/').map(|(domain, _)| domain);
    domain.is_some_and(|domain| domain != "app.kubernetes.io")
        || key == "pod-template-hash"
        || key == "controller-revision-hash"
}
