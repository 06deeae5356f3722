//! Rule `exec-tcp-through-service`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::kube::exec_calls;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};

declare_rule! {
    /// Finds exec probes that only connect to a Service, which the sidecar always accepts.
    ///
    /// ## What it checks
    /// An `exec` probe or hook of a pod with a sidecar whose command opens connections with nc,
    /// ncat, netcat, telnet or `/dev/tcp/`, all of them to a Service of the tree, on a port that is
    /// not excluded from outbound capture.
    ///
    /// ## Why it matters
    /// Connections that leave the pod are accepted by the sidecar before it calls anybody. The
    /// command succeeds whether the application is up or down, under every policy and with the
    /// rewrite on or off: nobody rewrites exec probes.
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
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     app: web
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         exec:
    ///           command: [nc, -z, web.shop, "8080"]
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
    ///     - name: tcp-web
    ///       port: 8080
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     app: web
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         exec:
    ///           command: [nc, -z, 127.0.0.1, "8080"]
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: connecting to 127.0.0.1 tests this pod and no longer the
    /// Service.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Istio documentation: "Traffic Routing"
    "exec-tcp-through-service", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene
        .handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::OutboundAccepted);
    struck.map(|(pod, handler)| report(pod, handler)).collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let calls = exec_calls(&handler.handler);
    let call = calls.first();
    let message = format!(
        "{} can never fail: the sidecar accepts its connection to {}:{} even when the application \
         is dead",
        handler.title(),
        call.map_or("", |call| call.host.as_str()),
        call.and_then(|call| call.port).unwrap_or_default(),
    );
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some(
        "connect to 127.0.0.1, which passes the sidecar by, or make a request and look at the answer"
            .to_owned(),
    );
    finding
}
