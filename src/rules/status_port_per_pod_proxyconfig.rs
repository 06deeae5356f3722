//! Rule `status-port-per-pod-proxyconfig`.

use super::rule::declare_rule;
use super::{Scene, pod_key, scene};
use crate::finding::{Applicability, Finding};
use crate::mesh::istio::keys;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, Value};

declare_rule! {
    /// Finds pods that move their agent away from the port that their probes are pointed at.
    ///
    /// ## What it checks
    /// A pod with `statusPort` in the annotation `proxy.istio.io/config`, and rewritten probes that
    /// go to another port.
    ///
    /// ## Why it matters
    /// The agent reads that annotation, the injector does not when it points the probes at the agent.
    /// Nothing listens where the kubelet asks.
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
    ///     proxy.istio.io/config: "statusPort: 15555"
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
    ///     status.sidecar.istio.io/port: "15555"
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
    /// Adding `status.sidecar.istio.io/port` with the agent's port is safe: probes, agent and
    /// redirect all honour it, and every rewritten probe of the pod fails until then. On a pod that
    /// was rewritten ahead it is unsafe.
    ///
    /// ## References
    /// - Istio reference: "Resource Annotations"
    /// - Istio reference: "Global Mesh Options"
    "status-port-per-pod-proxyconfig", Error, fix: Always, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene
        .handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::StatusPortMismatch);
    struck.map(|(pod, handler)| report(pod, handler)).collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let (target, agent) = (pod.status_port.value, pod.agent_port.value);
    let message = format!(
        "{} will fail: the injector points it at port {target}, but `{}` moves the agent to port \
         {agent}",
        handler.title(),
        keys::PROXY_CONFIG,
    );
    let span = handler.handler.key.span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    let key = keys::STATUS_PORT;
    finding.help = Some(format!(
        "move the agent with `{key}`, which the injector and the redirect honour too"
    ));
    let change = Change::Set {
        route: pod.workload.template.annotation_route(key),
        value: Value::Str(agent.to_string()),
    };
    finding.fix = Some(scene::fix(
        &pod.workload.object,
        format!("add `{key}: \"{agent}\"`"),
        pod_key::degree(pod, &[], Applicability::Safe),
        vec![change],
    ));
    finding
}
