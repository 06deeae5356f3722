//! Rules about PeerAuthentications and the pods to which they apply.

use meshprobe_mesh::finding::{Applicability, Certainty, Finding, Fix};
use meshprobe_mesh::kube::{Object, PeerAuthentication, Workload};
use meshprobe_predict::context::{ConflictingPolicies, Dataplane, PolicyScope};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Change, Entry, FieldPath};

use crate::rules::RuleContext;
use crate::rules::support::similar_names;

crate::rules::rule::rules! {
    BAD_MODE = "peerauth-bad-mode", Error, fix: Sometimes, scope: Tree,
        |cx| cx.context.inventory.peer_authentications.iter().flat_map(bad_mode).collect();
    DUPLICATE_SCOPE = "peerauth-duplicate-scope", Warning, fix: None, scope: Tree,
        |cx| cx.context.conflicting_policies().iter().filter_map(duplicate_scope).collect();
    MATCHES_NOTHING = "peerauth-matches-nothing", Note, fix: None, scope: Tree, check_matches_nothing;
    NOT_ENFORCED_NO_SIDECAR = "peerauth-not-enforced-no-sidecar", Warning, fix: None, scope: Tree,
        check_not_enforced_no_sidecar;
    PORTLEVEL_WITHOUT_SELECTOR = "peerauth-portlevel-without-selector", Error, fix: None, scope: Tree,
        |cx| cx.context.inventory.peer_authentications.iter().filter_map(portlevel_without_selector).collect();
    ROOT_SELECTOR_IGNORED = "peerauth-root-selector-ignored", Error, fix: Sometimes, scope: Tree,
        check_root_selector_ignored;
    UNSET_INHERITS = "peerauth-unset-inherits", Note, fix: None, scope: Tree,
        |cx| cx.context.inventory.peer_authentications.iter()
            .filter_map(|policy| unset_inherits(cx, policy)).collect();
}

/// The modes of the API.
const MODES: [&str; 4] = ["UNSET", "DISABLE", "PERMISSIVE", "STRICT"];

fn bad_mode<'t>(policy: &Object<'t>) -> Vec<Finding> {
    let view = PeerAuthentication::of(policy);
    let own = view
        .mode()
        .map(|mode| (FieldPath::keys(&["spec", "mtls", "mode"]), mode));
    let of_ports = view.ports().filter_map(|port| {
        let route = FieldPath::keys(&["spec", "portLevelMtls"]);
        let route = route.child(port.entry.key.text()?.to_owned());
        Some((route.child("mode"), port.mode?))
    });
    own.into_iter()
        .chain(of_ports)
        .filter_map(|(route, mode)| report_mode(policy, &route, mode))
        .collect()
}

fn report_mode<'t>(policy: &Object<'t>, route: &FieldPath, mode: Entry<'t>) -> Option<Finding> {
    let word = mode.value.text()?;
    if MODES.contains(&word) || placeholder::contains(word) {
        return None;
    }
    let message = format!(
        "`{word}` is not a mutual TLS mode: the API server refuses PeerAuthentication `{}`, and the \
         previous mode stays in effect",
        policy.name()
    );
    let mut finding = BAD_MODE.finding_on_object(policy, mode.value.span(), message);
    finding.field = Some(route.to_string());
    let closest = MODES
        .into_iter()
        .find(|known| known.eq_ignore_ascii_case(word) || similar_names::is_close(word, known));
    finding.help = Some(match closest {
        Some(known) => format!("set the mode to `{known}`"),
        None => "set the mode to `UNSET`, `DISABLE`, `PERMISSIVE` or `STRICT`".to_owned(),
    });
    finding.fix = closest.filter(|_| !mode.merged).map(|known| {
        let change = Change::set(policy.route.join(route), known);
        let title = format!("set the mode to `{known}`");
        let reason = if known == "STRICT" {
            "`STRICT` then takes effect, and probes that are not rewritten may fail".to_owned()
        } else {
            format!("mode `{known}` then takes effect for all clients of the selected pods")
        };
        Fix::of_object(
            policy,
            title,
            Applicability::unsafe_because(reason),
            vec![change],
        )
    });
    Some(finding)
}

fn duplicate_scope(conflict: &ConflictingPolicies<'_, '_>) -> Option<Finding> {
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
    let mut finding = DUPLICATE_SCOPE.finding_on_object(last, last.name_span(), message);
    if !are_joined {
        finding.severity = finding.severity.lowered();
        finding.certainty = Certainty::Assumed;
    }
    for policy in others {
        let message = format!("this policy also applies to {}", conflict.scope);
        finding.relate(policy.label_at(policy.name_span(), message));
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

fn check_matches_nothing(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let context = cx.context;
    context
        .inventory
        .peer_authentications
        .iter()
        .filter(|policy| context.istio_policy(policy).scope() == PolicyScope::Workloads)
        .filter_map(|policy| matches_nothing(cx, policy))
        .collect()
}

fn matches_nothing<'t>(cx: &RuleContext<'_, 't>, policy: &Object<'t>) -> Option<Finding> {
    let context = cx.context;
    if !cx
        .workloads_of_policy(policy, PolicyScope::Workloads)
        .is_empty()
    {
        return None;
    }
    let reached = cx.workloads_of_policy(policy, PolicyScope::Namespace);
    let pods: Vec<&Workload<'t>> = reached.iter().map(|pod| &pod.workload).collect();
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
    let mut finding = MATCHES_NOTHING.finding_on_object(policy, unmatched.value.span(), message);
    finding.field = Some(format!("spec.selector.matchLabels.{key}"));
    let with_key = pods
        .iter()
        .filter_map(|pod| Some((pod, pod.template.label(key)?)));
    if let Some((pod, label)) = with_key.min_by_key(|(_, label)| {
        let text = label.value.text().unwrap_or_default();
        !similar_names::is_close(value, text)
    }) {
        let message = format!("{} has this value", pod.title());
        finding.relate(pod.object.label_at(label.value.span(), message));
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

fn check_not_enforced_no_sidecar(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.context
        .inventory
        .peer_authentications
        .iter()
        .filter_map(|policy| not_enforced_no_sidecar(cx, policy))
        .collect()
}

fn not_enforced_no_sidecar<'t>(cx: &RuleContext<'_, 't>, policy: &Object<'t>) -> Option<Finding> {
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
    let reached = cx.workloads_of_policy(policy, policy_scope);
    let first = reached.first()?;
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
    if !reached.iter().all(|pod| is_out(pod)) {
        return None;
    }
    // Operators create pods of the namespace that the tree does not contain.
    let injection = context.pod_facts(&first.workload);
    if policy_scope == PolicyScope::Namespace && injection.is_per_pod() {
        return None;
    }
    let subject = match (policy_scope, reached.as_slice()) {
        (PolicyScope::Workloads, [only]) => format!("{} has", only.workload.title()),
        (PolicyScope::Workloads, _) => "no selected pod has".to_owned(),
        _ => {
            let namespace = context.namespace_of(policy).name;
            format!("no pod of namespace `{namespace}` has")
        }
    };
    let has = if reached.len() == 1 && policy_scope == PolicyScope::Workloads {
        "neither a sidecar nor ambient mode"
    } else {
        "a sidecar or ambient mode"
    };
    let message = format!("`STRICT` is not enforced: {subject} {has}, so plain text is accepted");
    let mut finding = NOT_ENFORCED_NO_SIDECAR.finding_on_object(policy, mode.span(), message);
    finding.field = Some("spec.mtls.mode".to_owned());
    finding.depend_on(&first.dataplane);
    let help = "set `istio-injection: enabled` on the Namespace to have the pods injected, or remove the \
                policy";
    finding.help = Some(help.to_owned());
    Some(finding)
}

fn portlevel_without_selector(policy: &Object<'_>) -> Option<Finding> {
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
    let mut finding =
        PORTLEVEL_WITHOUT_SELECTOR.finding_on_object(policy, ports.key.span(), message);
    finding.field = Some("spec.portLevelMtls".to_owned());
    if let Some(selector) = view.selector_entry() {
        let message = "this selector has no label";
        finding.relate(policy.label_at(selector.key.span(), message));
    }
    finding.help = Some("add the labels of the pods to `spec.selector.matchLabels`".to_owned());
    Some(finding)
}

fn check_root_selector_ignored(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.context
        .inventory
        .peer_authentications
        .iter()
        .filter(|policy| cx.context.istio_policy(policy).scope() == PolicyScope::None)
        .filter_map(|policy| root_selector_ignored(cx, policy))
        .collect()
}

fn root_selector_ignored<'t>(cx: &RuleContext<'_, 't>, policy: &Object<'t>) -> Option<Finding> {
    let selector = PeerAuthentication::of(policy).selector_entry()?;
    let root = cx.context.istio_near(policy).root_namespace();
    let message = format!(
        "PeerAuthentication `{}` is ignored: in the root namespace `{}`, a policy with a selector \
         applies to no workload",
        policy.name(),
        root.value,
    );
    let mut finding = ROOT_SELECTOR_IGNORED.finding_on_object(policy, selector.key.span(), message);
    finding.field = Some("spec.selector".to_owned());
    finding.cite(&root);
    let matching = matching_workloads(cx, policy);
    let mut namespaces: Vec<&str> = matching.iter().map(|(namespace, _)| *namespace).collect();
    namespaces.sort_unstable();
    namespaces.dedup();
    if let Some((_, pod)) = matching.first() {
        let object = &pod.workload.object;
        let message = "these pods have the labels";
        finding.relate(object.label_at(object.name_span(), message));
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
    let change = Change::set(route, namespace);
    let reason = format!("the policy then takes effect in namespace `{namespace}`");
    let title = format!("move the policy to namespace `{namespace}`");
    Fix::of_object(
        policy,
        title,
        Applicability::unsafe_because(reason),
        vec![change],
    )
}

fn unset_inherits<'t>(cx: &RuleContext<'_, 't>, policy: &Object<'t>) -> Option<Finding> {
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
    let scope_keeps = match policy_scope {
        PolicyScope::Mesh => "the mesh keeps".to_owned(),
        PolicyScope::Namespace => format!("namespace `{namespace}` keeps"),
        PolicyScope::Workloads => "its workloads keep".to_owned(),
        PolicyScope::None => return None,
    };
    let inherited = cx.context.istio_policy(policy).inherited_mtls(policy_scope);
    let message = format!(
        "PeerAuthentication `{}` sets no mode: {scope_keeps} `{}`, as without the policy",
        policy.name(),
        inherited.value.as_str(),
    );
    let spec = policy.node.entry("spec").map(|spec| spec.key.span());
    let span = match (view.mode(), view.mtls_entry()) {
        (Some(mode), _) if !mode.value.is_null() => mode.value.span(),
        (_, Some(mtls)) => mtls.key.span(),
        _ => spec.unwrap_or_else(|| policy.name_span()),
    };
    let mut finding = UNSET_INHERITS.finding_on_object(policy, span, message);
    finding.field = Some("spec.mtls.mode".to_owned());
    finding.depend_on(&inherited);
    finding.help = Some("set `spec.mtls.mode`, or remove the policy".to_owned());
    Some(finding)
}
