//! Rule `authz-blocks-probe`.

use super::rule::declare_rule;
use super::{Scene, refused};
use crate::context::{Misfit, RefusedBy};
use crate::finding::Finding;

declare_rule! {
    /// Finds probes that no rule of an AuthorizationPolicy allows.
    ///
    /// ## What it checks
    /// An HTTP or gRPC probe (or hook) that the sidecar answers for, in a pod for which an
    /// `AuthorizationPolicy` allows some requests, or none, and no rule allows this one.
    /// Where that depends on what no manifest tells (`ipBlocks`, a condition, the action CUSTOM), it
    /// is a warning.
    ///
    /// ## Why it matters
    /// One policy with the action ALLOW turns away all that no rule names. The kubelet has no
    /// identity of the mesh, so rules about principals and namespaces never match it. It gets 403
    /// (gRPC: PermissionDenied, HTTPS: a closed connection), even where mutual TLS is PERMISSIVE. A
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
    /// spec: {}
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
    /// spec: {}
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
    /// It is only shown, too, where nobody knows whether the policy refuses the probe.
    ///
    /// ## References
    /// - Istio reference: "Authorization Policy"
    /// - Istio documentation: "Health Checking of Istio Services"
    "authz-blocks-probe", Error, fix: Always, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let mut found = refused::all(scene, &RULE, RefusedBy::NoAllow, |handler, refusal| {
        format!(
            "{}: no rule of AuthorizationPolicy `{}` lets it pass{}",
            refused::fate(handler),
            refusal.policy.name(),
            match &refusal.misfit {
                Misfit::Identity | Misfit::Everybody => {
                    ", and the kubelet has no identity in the mesh".to_owned()
                }
                Misfit::NoRule => ", because the policy has no rule".to_owned(),
                Misfit::Fields(fields) => {
                    format!(", as it does not fit `{}`", fields.join("` and `"))
                }
            },
        )
    });
    found.extend(refused::in_doubt(scene, &RULE, false));
    found
}
