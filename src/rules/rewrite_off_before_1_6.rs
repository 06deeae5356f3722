//! Rule `rewrite-off-before-1-6`.

use super::rule::declare_rule;
use super::{Scene, switched_off};
use crate::finding::Finding;
use crate::mesh::Version;
use crate::predict::{Cause, WorkloadPrediction};

/// Since when the charts rewrite by default; istioctl since 1.6 (Istio 1.7, the charts' `values.yaml`).
const ON_SINCE: Version = Version::new(1, 7);

declare_rule! {
    /// Finds probes that fail because a release of Istio before 1.6 rewrites none by default.
    ///
    /// ## What it checks
    /// An `httpGet` or `grpc` probe at a captured port that demands mutual TLS, in a pod that Istio before 1.6
    /// (1.7 where the charts install it) injects, and neither the pod nor the installation switches the rewrite
    /// on. A `tcpSocket` probe there is reported by `tcp-probe-needs-1-12`.
    ///
    /// ## Why it matters
    /// The kubelet has no certificate of the mesh, so the sidecar closes its connection. Later releases let the
    /// agent make the check without being asked; these have to be told.
    ///
    /// ## Example
    /// ```yaml
    /// # meshprobe check --mesh-version 1.5
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
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// # meshprobe check --mesh-version 1.5
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
    ///   annotations:
    ///     sidecar.istio.io/rewriteAppHTTPProbers: "true"
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// Switching the rewrite on is safe when every probe of the pod keeps its meaning behind the agent,
    /// otherwise unsafe or only shown.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Istio reference: "PeerAuthentication"
    "rewrite-off-before-1-6", Warning, fix: Always, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    switched_off::report(
        &RULE,
        scene,
        |pod, handler| {
            let cause = handler.verdict.cause;
            matches!(cause, Cause::PlaintextAtStrict | Cause::HttpsAtStrict)
                && release(pod).is_some()
        },
        |pod, handler| {
            let release = release(pod).map_or_else(String::new, |release| release.to_string());
            format!(
                "{} will fail: Istio {release} rewrites no probe unless told to, and port {} demands \
                 mutual TLS (STRICT)",
                handler.title(),
                handler.port_said(),
            )
        },
    )
}

/// Returns the release where it is the reason that the rewrite is off: nothing that is written
/// says so.
pub(super) fn release(pod: &WorkloadPrediction<'_>) -> Option<Version> {
    let release = pod.release.value.filter(|release| *release < ON_SINCE)?;
    let is_written = pod.rewrite.because.iter().any(|one| one.place.is_some());
    (pod.is_asked && !pod.rewrite.value && !is_written).then_some(release)
}
