//! Rule `prerewritten-custom-port-recursion`.

use super::rule::declare_rule;
use super::{Scene, prober_env, scene};
use crate::finding::Finding;
use crate::mesh::Fact;
use crate::mesh::istio::keys;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction, predict_with};

declare_rule! {
    /// Finds probes whose check would have the agent call itself without end.
    ///
    /// ## What it checks
    /// A probe that points at the agent on the port of the annotation `status.sidecar.istio.io/port`, where that
    /// is not the port of the mesh, in a pod that leaves the rewrite on.
    ///
    /// ## Why it matters
    /// The injector knows the agent by the port of the mesh only. It takes the probe for one of the
    /// application's, and records the agent's own URL for it: every probe makes the agent ask itself, which asks
    /// itself again, until the timeout. One probe made some 5000 requests, and failed.
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
    ///     status.sidecar.istio.io/port: '15555'
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /app-health/web/livez
    ///           port: 15555
    ///     - name: istio-proxy
    ///       image: auto
    ///       env:
    ///         - name: ISTIO_KUBE_APP_PROBERS
    ///           value: '{"/app-health/web/livez":{"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"timeoutSeconds":1}}'
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
    ///     status.sidecar.istio.io/port: '15555'
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /app-health/web/livez
    ///           port: 15555
    ///     - name: istio-proxy
    ///       image: auto
    ///       env:
    ///         - name: ISTIO_KUBE_APP_PROBERS
    ///           value: '{"/app-health/web/livez":{"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"timeoutSeconds":1}}'
    /// ```
    ///
    /// ## Fix safety
    /// Switching the rewrite off is unsafe, like all changes to a pod that was rewritten ahead. There is no fix
    /// where the probes would still not work: without an entry for each of them.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Istio documentation: "Resource Annotations"
    "prerewritten-custom-port-recursion", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene
        .handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::AgentCallsItself);
    struck
        .map(|(pod, handler)| report(scene, pod, handler))
        .collect()
}

fn report<'t>(
    scene: &Scene<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Finding {
    let message = format!(
        "{} will fail: the injector does not know port {} for the agent's, and has the agent call \
         itself without end",
        handler.title(),
        handler.port.unwrap_or_default(),
    );
    let span = handler.handler.field_span("port");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    let off = Fact::settled(false, "the rewrite is off");
    let opted_out = predict_with(scene.context, &pod.workload, off);
    let mut handlers = opted_out.handlers.iter();
    if handlers.any(|handler| handler.verdict.outcome.is_bad()) {
        finding.help = Some(format!(
            "write the application's own path and port again, or set `{}` to \"false\" and give {} \
             an entry for each probe",
            keys::REWRITE_PROBERS,
            keys::PROBERS_ENV,
        ));
    } else {
        finding.fix = Some(prober_env::opt_out(pod));
    }
    finding
}
