//! Rule `authz-http-rule-on-tcp-port`.

use super::rule::declare_rule;
use super::{Scene, refused};
use crate::context::RefusedBy;
use crate::finding::Finding;

declare_rule! {
    /// Finds probes refused by rules about HTTP where the sidecar sees bytes.
    ///
    /// ## What it checks
    /// A probe (or hook) that a rule with paths, methods, hosts or other fields of HTTP would let
    /// pass, on a port whose traffic the sidecar passes on as bytes: the Service names it `tcp-*`,
    /// or the probe brings TLS of its own.
    ///
    /// ## Why it matters
    /// On such a port an ALLOW rule with a field of HTTP vanishes, and a DENY rule loses the field
    /// and matches everything. The connection is closed, although the policy names the very path of
    /// the probe.
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
    /// apiVersion: v1
    /// kind: Service
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   selector:
    ///     app: web
    ///   ports:
    ///     - name: tcp-web
    ///       port: 8080
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: AuthorizationPolicy
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   rules:
    ///     - to:
    ///         - operation:
    ///             paths: [/healthz]
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     app: web
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
    /// apiVersion: v1
    /// kind: Service
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   selector:
    ///     app: web
    ///   ports:
    ///     - name: http-web
    ///       port: 8080
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: AuthorizationPolicy
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   rules:
    ///     - to:
    ///         - operation:
    ///             paths: [/healthz]
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     app: web
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
    /// ## Fix safety
    /// Switching the rewrite on is safe when every probe and hook of the pod keeps its meaning
    /// behind the agent. Where one would be spoiled the fix is only shown; otherwise it is unsafe.
    ///
    /// ## References
    /// - Istio reference: "Authorization Policy"
    /// - Istio documentation: "Protocol Selection"
    "authz-http-rule-on-tcp-port", Warning, fix: Always, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let lost = RefusedBy::FieldsLost;
    let mut findings = refused::all(scene, &RULE, lost, |handler, refusal| {
        format!(
            "{}: on port {} the sidecar sees bytes, not HTTP, and AuthorizationPolicy `{}` speaks of \
             HTTP",
            refused::fate(handler),
            handler.port.unwrap_or_default(),
            refusal.policy.name(),
        )
    });
    for finding in &mut findings {
        let help =
            "have the mesh rewrite the probe; for plain HTTP, name the Service port `http-…`";
        finding.help.get_or_insert_with(|| help.to_owned());
    }
    findings
}
