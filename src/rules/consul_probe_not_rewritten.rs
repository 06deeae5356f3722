//! Rule `consul-probe-not-rewritten`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::mesh::consul::EXCLUDED_PORTS;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds probes and hooks that Consul leaves as they are, in pods that it injects.
    ///
    /// ## What it checks
    /// A pod that Consul injects with a transparent proxy, and a handler on a port that the redirect
    /// does not leave alone: a `tcpSocket` or `grpc` probe; a probe of a native sidecar; a hook with
    /// `httpGet`; and any probe where `consul.hashicorp.com/transparent-proxy-overwrite-probes` is
    /// off.
    ///
    /// ## Why it matters
    /// Consul rewrites `httpGet` probes of ordinary containers and nothing else. The proxy accepts
    /// every connection, so a `tcpSocket` probe can never fail. What speaks in plain text meets
    /// mutual TLS and fails for ever; of HTTP that follows from the documentation and was not run,
    /// so it is reported as an assumption.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
    ///   annotations:
    ///     consul.hashicorp.com/connect-inject: "true"
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         tcpSocket:
    ///           port: 8080
    ///       readinessProbe:
    ///         grpc:
    ///           port: 9090
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
    ///   annotations:
    ///     consul.hashicorp.com/connect-inject: "true"
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
    /// There is no fix by machine: whether the application speaks HTTP somewhere is not known.
    ///
    /// ## References
    /// - consul-k8s, `control-plane/connect-inject/webhook/mesh_webhook.go`
    /// - Consul documentation: "Transparent proxy", health probes
    "consul-probe-not-rewritten", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::Consul) {
        return None;
    }
    let what = match handler.verdict.cause {
        Cause::SidecarAccepts => "can never fail: the proxy accepts every connection",
        Cause::Other(Trouble::GrpcAtMtls | Trouble::PlainAtMtls | Trouble::HookAtMtls) => {
            "fails: plain text meets mutual TLS"
        }
        _ => return None,
    };
    let why = match handler.verdict.cause {
        Cause::Other(Trouble::HookAtMtls) => "Consul does not rewrite hooks",
        Cause::Other(Trouble::PlainAtMtls) if handler.container.is_native_sidecar() => {
            "Consul does not rewrite probes of init containers"
        }
        Cause::Other(Trouble::PlainAtMtls) => "Consul leaves it as it is",
        _ => "Consul rewrites `httpGet` alone",
    };
    let message = format!("{} {what}; {why}", handler.title());
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    let cure = match handler.verdict.cause {
        Cause::Other(Trouble::PlainAtMtls | Trouble::HookAtMtls) => "make it an `exec`",
        _ => "make the check an `httpGet` or an `exec`",
    };
    finding.help = Some(format!(
        "{cure}, or exclude the port from the redirect (`{EXCLUDED_PORTS}`)"
    ));
    Some(finding)
}
