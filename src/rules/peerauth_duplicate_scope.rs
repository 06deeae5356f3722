//! Rule `peerauth-duplicate-scope`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Rivals;
use crate::finding::Finding;

declare_rule! {
    /// Finds PeerAuthentications of one scope that say different things.
    ///
    /// ## What it checks
    /// Two `PeerAuthentication`s that lie in one folder, or that one kustomization or deployment
    /// brings in, and that are both for the same namespace, both for the whole mesh, or both for
    /// one workload, with different modes.
    ///
    /// ## Why it matters
    /// Of one scope only the oldest policy holds; the others are passed over, their `portLevelMtls`
    /// included. Age is decided in the cluster: a policy that is deleted and made anew loses, and
    /// the mode of mutual TLS changes without a change in Git.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: a
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: STRICT
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: b
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: PERMISSIVE
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: a
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: STRICT
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: only you know which of them is meant.
    ///
    /// ## References
    /// - Istio reference: "PeerAuthentication"
    "peerauth-duplicate-scope", Warning, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let rivals = scene.context.contradictions();
    rivals.iter().filter_map(report).collect()
}

fn report(rivals: &Rivals<'_, '_>) -> Option<Finding> {
    let (last, others) = rivals.policies.split_last()?;
    let names: Vec<String> = others
        .iter()
        .map(|policy| format!("`{}`", policy.name()))
        .collect();
    let message = format!(
        "PeerAuthentications {} and `{}` are both for {}: only the older one holds, and no file \
         says which that is",
        names.join(", "),
        last.name(),
        rivals.scope,
    );
    let mut finding = scene::about_object(&RULE, last, last.name_span(), message);
    for policy in others {
        let said = format!("this one is for {}, too", rivals.scope);
        finding
            .related
            .push(policy.label_at(policy.name_span(), said));
    }
    finding.help = Some("write one policy that says all".to_owned());
    Some(finding)
}
