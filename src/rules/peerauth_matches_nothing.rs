//! Rule `peerauth-matches-nothing`.

use super::reached_pods::ReachedPodsCache;
use super::rule::declare_rule;
use super::{Scene, scene, suggest};
use crate::context::Reach;
use crate::finding::Finding;
use crate::kube::{Object, PeerAuthentication, Workload};
use crate::source::placeholder;
use crate::yaml::Entry;

declare_rule! {
    /// Finds PeerAuthentications whose selector matches no pod of their namespace.
    ///
    /// ## What it checks
    /// A `PeerAuthentication` whose `selector` asks for a label that no pod template of its
    /// namespace carries. It is said only where the tree shows the pods: it holds workloads of that
    /// namespace along one line of folders with the policy, nothing there that brings pods of its
    /// own (a HelmRelease, an operator's object, a kustomization that could not be followed), and
    /// the label is not one that a controller sets.
    ///
    /// ## Why it matters
    /// The policy is accepted and has no effect. A selector is compared with the labels of the pod
    /// template, not with those of the Deployment.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   selector:
    ///     matchLabels:
    ///       app: wbe
    ///   mtls:
    ///     mode: STRICT
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     app: web
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   selector:
    ///     matchLabels:
    ///       app: web
    ///   mtls:
    ///     mode: STRICT
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     app: web
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: only you know whom the policy is for.
    ///
    /// ## References
    /// - Istio reference: "PeerAuthentication"
    "peerauth-matches-nothing", Note, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let context = scene.context;
    let policies = context.inventory.peer_authentications.iter();
    let narrow = policies.filter(|policy| context.reach(policy) == Reach::Workloads);
    let mut known = ReachedPodsCache::default();
    narrow
        .filter_map(|policy| report(scene, policy, &mut known))
        .collect()
}

fn report<'s, 't>(
    scene: &Scene<'s, 't>,
    policy: &Object<'t>,
    known: &mut ReachedPodsCache<'s, 't>,
) -> Option<Finding> {
    let context = scene.context;
    if !known.of(scene, policy, Reach::Workloads).pods.is_empty() {
        return None;
    }
    let reached = known.of(scene, policy, Reach::Namespace);
    let pods: Vec<&Workload<'t>> = reached.pods.iter().map(|pod| &pod.workload).collect();
    let selector = PeerAuthentication::of(policy).selector_entry()?;
    let labels = selector.value.get("matchLabels")?;
    let carried = |entry: &Entry<'t>, pod: &Workload<'t>| {
        let label = entry.key.text().and_then(|key| pod.template.label(key));
        let text = label.and_then(|label| label.value.text());
        text.is_some_and(|text| Some(text) == entry.value.text() || placeholder::contains(text))
    };
    let wanted = labels
        .effective_entries()
        .into_iter()
        .find(|entry| !pods.iter().any(|pod| carried(entry, pod)))?;
    let (key, value) = (wanted.key.text()?, wanted.value.text()?);
    if is_of_a_controller(key) || placeholder::contains(value) || !context.shows_pods_of(policy) {
        return None;
    }
    let message = format!(
        "PeerAuthentication `{}` is for nobody: no pod of namespace `{}` in this tree carries the \
         label `{key}: {value}`",
        policy.name(),
        context.namespace_of(policy).0,
    );
    let mut finding = scene::about_object(&RULE, policy, wanted.value.span(), message);
    finding.field = Some(format!("spec.selector.matchLabels.{key}"));
    let with_key = pods
        .iter()
        .filter_map(|pod| Some((pod, pod.template.label(key)?)));
    if let Some((pod, label)) = with_key.min_by_key(|(_, label)| {
        let text = label.value.text().unwrap_or_default();
        !suggest::is_close(value, text)
    }) {
        let said = format!("{} carries this value", pod.title());
        finding
            .related
            .push(pod.object.label_at(label.value.span(), said));
    }
    let help = "write a label of the pod template (labels of the Deployment itself do not count)";
    finding.help = Some(help.to_owned());
    Some(finding)
}

/// Labels that controllers put on pods stand in no template.
fn is_of_a_controller(key: &str) -> bool {
    let domain = key.split_once('/').map(|(domain, _)| domain);
    domain.is_some_and(|domain| domain != "app.kubernetes.io")
        || key == "pod-template-hash"
        || key == "controller-revision-hash"
}
