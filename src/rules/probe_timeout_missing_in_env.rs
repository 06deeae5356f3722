//! Rule `probe-timeout-missing-in-env`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::{ProberEnvPlace, proxy_container};
use crate::finding::{Applicability, Finding, Fix};
use crate::kube::Action;
use crate::mesh::istio::keys;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, Value};

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
    let path = match &handler.handler.action {
        Ok(Action::HttpGet(http)) => http.path.as_str(),
        _ => "",
    };
    let message = format!(
        "{} will fail: the entry {path} of `{}` has no timeout, so the agent's gRPC check is over \
         before it starts",
        handler.title(),
        keys::PROBERS_ENV,
    );
    let object = &pod.workload.object;
    let probe = handler.handler.field_span("path");
    let env = pod.prober_env.as_ref().map(|env| env.span);
    // A value of several lines is no place to point at.
    let text = handler.handler.node.tree().text();
    let env = env.filter(|span| !span.slice(text).contains('\n'));
    let span = env.unwrap_or(probe);
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    if env.is_some() {
        let asks = object.label_at(probe, "the probe that asks for it");
        finding.related.insert(0, asks);
    }
    finding.help =
        Some("write the default of Kubernetes into the entry: `\"timeoutSeconds\":1`".to_owned());
    finding.fix = mend(pod, path);
    finding
}

fn mend(pod: &WorkloadPrediction<'_>, path: &str) -> Option<Fix> {
    let env = pod.prober_env.as_ref()?;
    if env.place != ProberEnvPlace::Container {
        return None;
    }
    let variable = proxy_container(&pod.workload)?.env(keys::PROBERS_ENV)?;
    let value = Value::Str(env.with_timeout(path, 1)?);
    let route = variable.route.child("value");
    let change = Change::Set { route, value };
    Some(scene::fix(
        &pod.workload.object,
        "give the entry a timeout of 1 second",
        Applicability::Unsafe,
        vec![change],
    ))
}
