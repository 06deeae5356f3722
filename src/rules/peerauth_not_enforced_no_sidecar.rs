//! Rule `peerauth-not-enforced-no-sidecar`.

use super::reached_pods::ReachedPodsCache;
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::{Dataplane, Reach};
use crate::finding::{Certainty, Finding};
use crate::kube::{Object, PeerAuthentication};
use crate::predict::WorkloadPrediction;

declare_rule! {
    /// Finds STRICT policies of which no pod is in the mesh.
    ///
    /// ## What it checks
    /// A `PeerAuthentication` with STRICT for a namespace, or for selected workloads, where the
    /// labels of the Namespace and of the pods put not one of them into the mesh. Policies for the
    /// whole mesh are left out: they are not meant for every namespace.
    ///
    /// ## Why it matters
    /// It is the sidecar, or ztunnel, that turns plain text away. Without one the pods accept
    /// everything, while the policy says that they do not.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: STRICT
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: STRICT
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: whether the pods belong to the mesh only you know.
    ///
    /// ## References
    /// - Istio reference: "PeerAuthentication"
    /// - Istio documentation: "Sidecar Injection Problems"
    "peerauth-not-enforced-no-sidecar", Warning, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let policies = scene.context.inventory.peer_authentications.iter();
    let mut known = ReachedPodsCache::default();
    policies
        .filter_map(|policy| report(scene, policy, &mut known))
        .collect()
}

fn report<'s, 't>(
    scene: &Scene<'s, 't>,
    policy: &Object<'t>,
    known: &mut ReachedPodsCache<'s, 't>,
) -> Option<Finding> {
    let context = scene.context;
    let mode = PeerAuthentication::of(policy).mode()?.value;
    let reach = context.reach(policy);
    if mode.text() != Some("STRICT") || !matches!(reach, Reach::Namespace | Reach::Workloads) {
        return None;
    }
    let reached = known.of(scene, policy, reach);
    let first = reached.pods.first()?;
    // Only what the tree says counts, not what an option says.
    let is_out = |pod: &WorkloadPrediction<'_>| {
        let dataplane = &pod.dataplane;
        dataplane.value == Dataplane::None
            && dataplane.certainty > Certainty::Assumed
            && dataplane.because.iter().any(|one| one.place.is_some())
    };
    if !reached.all_are(is_out) {
        return None;
    }
    let whom = match (reach, reached.pods.as_slice()) {
        (Reach::Workloads, [only]) => format!("{} has", only.workload.title()),
        (Reach::Workloads, _) => "no selected pod has".to_owned(),
        _ => {
            let namespace = context.namespace_of(policy).0;
            format!("no pod of namespace `{namespace}` has")
        }
    };
    let has = if reached.pods.len() == 1 && reach == Reach::Workloads {
        "neither a sidecar nor ambient mode"
    } else {
        "a sidecar or ambient mode"
    };
    let message = format!("STRICT is enforced nowhere: {whom} {has}, so plain text is accepted");
    let mut finding = scene::about_object(&RULE, policy, mode.span(), message);
    finding.field = Some("spec.mtls.mode".to_owned());
    scene::rest_on_fact(&mut finding, &first.dataplane);
    let help = "have the pods injected (`istio-injection: enabled` on the Namespace), or remove the \
                policy";
    finding.help = Some(help.to_owned());
    Some(finding)
}
