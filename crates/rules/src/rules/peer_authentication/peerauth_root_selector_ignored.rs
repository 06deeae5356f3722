//! Rule `peerauth-root-selector-ignored`, documented in `docs/rules/peerauth-root-selector-ignored.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::{Object, PeerAuthentication};
use meshprobe_predict::context::PolicyScope;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{Change, FieldPath, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "peerauth-root-selector-ignored", Error, fix: Sometimes, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.context
        .inventory
        .peer_authentications
        .iter()
        .filter(|policy| cx.context.istio_policy(policy).scope() == PolicyScope::None)
        .filter_map(|policy| report(cx, policy))
        .collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, policy: &Object<'t>) -> Option<Finding> {
    let selector = PeerAuthentication::of(policy).selector_entry()?;
    let root = cx.context.istio_near(policy).root_namespace();
    let message = format!(
        "PeerAuthentication `{}` is ignored: in the root namespace `{}`, a policy with a selector \
         applies to no workload",
        policy.name(),
        root.value,
    );
    let mut finding = RULE.finding_on_object(policy, selector.key.span(), message);
    finding.field = Some("spec.selector".to_owned());
    finding.cite(&root);
    let matching = matching_workloads(cx, policy);
    let mut namespaces: Vec<&str> = matching.iter().map(|(namespace, _)| *namespace).collect();
    namespaces.sort_unstable();
    namespaces.dedup();
    if let Some((_, pod)) = matching.first() {
        let object = &pod.workload.object;
        let message = "these pods have the labels";
        finding
            .related
            .push(object.label_at(object.name_span(), message));
    }
    let place = match namespaces.as_slice() {
        [only] => {
            finding.fix = Some(fix(policy, only));
            format!("`{only}`, the namespace of its workloads")
        }
        _ => "the namespace of its workloads".to_owned(),
    };
    finding.help = Some(format!(
        "move it to {place}; to apply it to the whole mesh, remove the selector"
    ));
    Some(finding)
}

/// Returns the workloads of other namespaces that have the labels of the selector, with their namespaces.
fn matching_workloads<'s, 't>(
    cx: &RuleContext<'s, 't>,
    policy: &Object<'t>,
) -> Vec<(&'s str, &'s WorkloadPrediction<'t>)> {
    let selector = PeerAuthentication::of(policy).selector();
    let root = cx.context.namespace_of(policy).name;
    cx.workloads_of_policy(policy, PolicyScope::Mesh)
        .into_iter()
        .filter(|pod| selector.matches(pod.workload.template.labels()))
        .filter_map(|pod| Some((pod.namespace.as_deref()?, pod)))
        .filter(|(namespace, _)| *namespace != root)
        .collect()
}

fn fix(policy: &Object<'_>, namespace: &str) -> Fix {
    let route = policy
        .route
        .join(&FieldPath::keys(&["metadata", "namespace"]));
    let change = Change::Set {
        route,
        value: Value::from(namespace),
    };
    let reason = format!("the policy then takes effect in namespace `{namespace}`");
    let title = format!("move the policy to namespace `{namespace}`");
    Fix::of_object(
        policy,
        title,
        Applicability::unsafe_because(reason),
        vec![change],
    )
}
