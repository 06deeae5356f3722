//! Rule `authz-deny-unauthenticated`.

use super::rule::declare_rule;
use super::{Scene, refused};
use crate::context::{Misfit, RefusedBy};
use crate::finding::Finding;

declare_rule! {
    /// Finds probes that a DENY rule of an AuthorizationPolicy refuses.
    ///
    /// ## What it checks
    /// An HTTP or gRPC probe (or hook) that the sidecar answers for, and that a rule of an
    /// `AuthorizationPolicy` with the action DENY matches. Where that depends on what no manifest tells
    /// (`ipBlocks`, a condition), it is a warning.
    ///
    /// ## Why it matters
    /// A negative match such as `notPrincipals` holds for whoever has no principal at all, and the
    /// kubelet has none. DENY comes before ALLOW, so no other policy can let the probe pass. A
    /// rewritten probe asks the agent and never meets the policy.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: AuthorizationPolicy
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   action: DENY
    ///   rules:
    ///     - from:
    ///         - source:
    ///             notPrincipals: ["*"]
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     sidecar.istio.io/rewriteAppHTTPProbers: "false"
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       readinessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
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
    /// kind: AuthorizationPolicy
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   action: DENY
    ///   rules:
    ///     - from:
    ///         - source:
    ///             notPrincipals: ["*"]
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
    ///       readinessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// Switching the rewrite on is safe when every probe and hook of the pod keeps its meaning
    /// behind the agent. Where one would be spoiled the fix is only shown; otherwise it is unsafe.
    /// It is only shown, too, where nobody knows whether the rule matches.
    ///
    /// ## References
    /// - Istio reference: "Authorization Policy"
    "authz-deny-unauthenticated", Error, fix: Always, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let mut found = refused::all(scene, &RULE, RefusedBy::Deny, |handler, refusal| {
        format!(
            "{}: a DENY rule of AuthorizationPolicy `{}` matches {}",
            refused::fate(handler),
            refusal.policy.name(),
            match refusal.misfit {
                Misfit::Everybody => "it, whoever calls",
                _ => "the kubelet, which has no identity in the mesh",
            },
        )
    });
    found.extend(refused::in_doubt(scene, &RULE, true));
    found
}
