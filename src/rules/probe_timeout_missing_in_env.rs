//! Rule `probe-timeout-missing-in-env`.

use super::rule::declare_rule;
use super::{Scene, prober_env, scene};
use crate::finding::{Applicability, Finding, Fix};
use crate::mesh::istio::keys;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};

declare_rule! {
    /// Finds gRPC probes that were rewritten ahead without their timeout.
    ///
    /// ## What it checks
    /// A probe that points at the agent, whose entry in `ISTIO_KUBE_APP_PROBERS` is a gRPC check
    /// with a `timeoutSeconds` of 0 or none at all.
    ///
    /// ## Why it matters
    /// The agent takes a missing timeout for no time: the check is over before it starts, and fails
    /// for ever on a healthy server. In a cluster the API server has filled in 1 before the
    /// injector looks; tools that read the file, `istioctl kube-inject` among them, have not.
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
    ///           path: /app-health/web/readyz
    ///           port: 15020
    ///     - name: istio-proxy
    ///       image: auto
    ///       env:
    ///         - name: ISTIO_KUBE_APP_PROBERS
    ///           value: '{"/app-health/web/readyz":{"grpc":{"port":9090,"service":""}}}'
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
    ///           path: /app-health/web/readyz
    ///           port: 15020
    ///     - name: istio-proxy
    ///       image: auto
    ///       env:
    ///         - name: ISTIO_KUBE_APP_PROBERS
    ///           value: '{"/app-health/web/readyz":{"grpc":{"port":9090,"service":""},"timeoutSeconds":1}}'
    /// ```
    ///
    /// ## Fix safety
    /// Writing the default into the entry is unsafe, like all changes to a pod that was rewritten
    /// ahead. There is no fix where the env stands in the annotation `proxy.istio.io/config`.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Kubernetes API reference: Probe
    "probe-timeout-missing-in-env", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene
        .handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::AgentTimeoutZero);
    struck.map(|(pod, handler)| report(pod, handler)).collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let path = handler.agent_path().unwrap_or_default();
    let message = format!(
        "{} will fail: the entry {path} of `{}` has no timeout, so the agent's gRPC check is over \
         before it starts",
        handler.title(),
        keys::PROBERS_ENV,
    );
    let mut finding =
        prober_env::about_handler(&RULE, pod, handler, message, "the probe that asks for it");
    finding.help =
        Some("write the default of Kubernetes into the entry: `\"timeoutSeconds\":1`".to_owned());
    finding.fix = mend(pod, path);
    finding
}

fn mend(pod: &WorkloadPrediction<'_>, path: &str) -> Option<Fix> {
    let value = pod.prober_env.as_ref()?.with_timeout(path, 1)?;
    let change = prober_env::with_value(pod, value)?;
    let title = "give the entry a timeout of 1 second";
    let object = &pod.workload.object;
    let degree = Applicability::Unsafe;
    Some(scene::fix(object, title, degree, vec![change]))
}
