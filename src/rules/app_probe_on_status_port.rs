//! Rule `app-probe-on-status-port`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::predict::{Cause, Outcome};

declare_rule! {
    /// Finds probes of the application that go to the port of the agent.
    ///
    /// ## What it checks
    /// A probe or hook that is rewritten and whose port, by number or by name, is the status port
    /// of the mesh (15020 unless configured otherwise), with a path of its own.
    ///
    /// ## Why it matters
    /// The injector takes a probe of that number for one that is rewritten already: it points it at
    /// the agent and records nothing, so the agent answers 400. A port name that resolves to it is
    /// recorded, and the agent asks itself: 404 for HTTP, 500 for gRPC, and a tcpSocket that can
    /// never fail. No application can listen there in a pod with a sidecar.
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
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 15020
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
    /// There is no fix by machine: the port of the application is not known.
    ///
    /// ## References
    /// - Istio documentation: "Application Requirements", "Ports used by Istio"
    /// - Istio documentation: "Health Checking of Istio Services"
    "app-probe-on-status-port", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene
        .handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::PortOfAgent);
    struck
        .map(|(pod, handler)| {
            let result = match handler.verdict.outcome {
                Outcome::AlwaysPasses => "can never fail",
                _ => "will fail",
            };
            let message = format!(
                "{} {result}: port {} is that of the agent in the sidecar, which is asked about \
                 itself",
                handler.title(),
                handler.port.unwrap_or_default(),
            );
            let span = handler.handler.field_span("port");
            let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
            finding.help = Some(
                "write the port of the application; the sidecar has a probe of its own".to_owned(),
            );
            finding
        })
        .collect()
}
