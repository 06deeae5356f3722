//! Rule `peerauth-portlevel-without-selector`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::kube::{Object, PeerAuthentication};

declare_rule! {
    /// Finds exceptions for single ports in a PeerAuthentication that selects no workload.
    ///
    /// ## What it checks
    /// A `PeerAuthentication` with `portLevelMtls` whose `selector` names no label.
    ///
    /// ## Why it matters
    /// Ports belong to workloads, so the policy of a namespace or of the mesh may name none. The
    /// API server refuses the whole object: "mesh/namespace peer authentication cannot have port
    /// level mTLS". Where that check is bypassed, Istio passes over the ports.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: STRICT
    ///   portLevelMtls:
    ///     8080:
    ///       mode: PERMISSIVE
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
    ///   portLevelMtls:
    ///     8080:
    ///       mode: PERMISSIVE
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: only you know whose ports are meant.
    ///
    /// ## References
    /// - Istio reference: "PeerAuthentication"
    "peerauth-portlevel-without-selector", Error, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let policies = scene.context.inventory.peer_authentications.iter();
    policies.filter_map(report).collect()
}

fn report(policy: &Object<'_>) -> Option<Finding> {
    let view = PeerAuthentication::of(policy);
    let ports = view.ports_entry()?;
    if view.has_selector() || ports.value.effective_entries().is_empty() {
        return None;
    }
    let message = format!(
        "PeerAuthentication `{}` is refused: `portLevelMtls` needs a selector, and this policy \
         selects no workload",
        policy.name()
    );
    let mut finding = scene::about_object(&RULE, policy, ports.key.span(), message);
    finding.field = Some("spec.portLevelMtls".to_owned());
    if let Some(selector) = view.selector_entry() {
        let said = "this selector names no label";
        finding
            .related
            .push(policy.label_at(selector.key.span(), said));
    }
    finding.help = Some("name the labels of the pods in `spec.selector.matchLabels`".to_owned());
    Some(finding)
}
