//! Rule `peerauth-unset-inherits`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Reach;
use crate::finding::Finding;
use crate::kube::{Object, PeerAuthentication};
use crate::yaml::Entry;

declare_rule! {
    /// Finds PeerAuthentications that set nothing.
    ///
    /// ## What it checks
    /// A `PeerAuthentication` without a mode, or with UNSET, that says nothing of single ports
    /// either.
    ///
    /// ## Why it matters
    /// Such a policy does not mean STRICT. It inherits the mode of its namespace, else of the mesh,
    /// else PERMISSIVE: nothing is other than it would be without the policy.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec: {}
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: STRICT
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the mode that is meant is not known.
    ///
    /// ## References
    /// - Istio reference: "PeerAuthentication"
    "peerauth-unset-inherits", Note, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let policies = scene.context.inventory.peer_authentications.iter();
    policies
        .filter_map(|policy| report(scene, policy))
        .collect()
}

fn report<'t>(scene: &Scene<'_, 't>, policy: &Object<'t>) -> Option<Finding> {
    let view = PeerAuthentication::of(policy);
    let is_set = |mode: Option<Entry<'t>>| {
        mode.is_some_and(|mode| !mode.value.is_null() && mode.value.text() != Some("UNSET"))
    };
    if is_set(view.mode()) || view.ports().any(|port| is_set(port.mode)) {
        return None;
    }
    let reach = scene.context.reach(policy);
    let namespace = scene.context.namespace_of(policy).0;
    let whom = match reach {
        Reach::Mesh => "the mesh".to_owned(),
        Reach::Namespace => format!("namespace `{namespace}`"),
        Reach::Workloads => "its workloads".to_owned(),
        Reach::Nobody => return None,
    };
    let inherited = scene.context.inherited_mtls(policy, reach);
    let message = format!(
        "PeerAuthentication `{}` sets no mode: {whom} keeps {}, as without the policy",
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
    let mut finding = scene::about_object(&RULE, policy, span, message);
    finding.field = Some("spec.mtls.mode".to_owned());
    scene::rest_on_fact(&mut finding, &inherited);
    finding.help = Some("set `spec.mtls.mode`, or remove the policy".to_owned());
    Some(finding)
}
