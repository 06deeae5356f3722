//! Rule `legacy-authentication-api`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::Version;
use crate::yaml::NodeRef;

declare_rule! {
    /// Finds authentication policies that no release of Istio reads any more.
    ///
    /// ## What it checks
    /// A `MeshPolicy` or `Policy` of `authentication.istio.io`, unless the mesh is known to be
    /// older than 1.6.
    ///
    /// ## Why it matters
    /// Istio 1.6 dropped this API. Where its definition is still in the cluster the object is
    /// accepted, and nothing comes of it: no mutual TLS is in force, while the file says that it
    /// is.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: authentication.istio.io/v1alpha1
    /// kind: MeshPolicy
    /// metadata:
    ///   name: default
    /// spec:
    ///   peers:
    ///     - mtls: {}
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: istio-system
    /// spec:
    ///   mtls:
    ///     mode: STRICT
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the new policy takes effect at once, and may be too strict for
    /// some client.
    ///
    /// ## References
    /// - Istio documentation: "Upgrade Notes"
    /// - Istio reference: "PeerAuthentication"
    "legacy-authentication-api", Error, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let policies = scene.context.inventory.legacy_policies.iter();
    policies
        .filter_map(|policy| report(scene, policy))
        .collect()
}

fn report<'t>(scene: &Scene<'_, 't>, policy: &Object<'t>) -> Option<Finding> {
    let release = scene.context.version_near(policy);
    let is_read = release.is_some_and(|release| release < Version::new(1, 6));
    if is_read || !matches!(policy.kind, "MeshPolicy" | "Policy") {
        return None;
    }
    let message = format!(
        "{} `{}` is read by no Istio since 1.6: no mutual TLS is in force from it",
        policy.kind,
        policy.name(),
    );
    let span = policy
        .node
        .get("apiVersion")
        .map_or_else(|| policy.name_span(), NodeRef::span);
    let mut finding = scene::about_object(&RULE, policy, span, message);
    finding.field = Some("apiVersion".to_owned());
    let place = if policy.kind == "MeshPolicy" {
        let root = scene.context.root_namespace_near(policy).value;
        format!("in the root namespace `{root}`")
    } else {
        "in its place".to_owned()
    };
    finding.help = Some(format!(
        "write a PeerAuthentication of security.istio.io {place}"
    ));
    Some(finding)
}
