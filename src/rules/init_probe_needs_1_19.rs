//! Rule `init-probe-needs-1-19`.

use super::rule::declare_rule;
use super::{Scene, release_gap};
use crate::finding::Finding;
use crate::kube::ContainerList;

declare_rule! {
    /// Finds probes of native sidecars that the release of Istio is too old to rewrite.
    ///
    /// ## What it checks
    /// A probe of an init container that is always restarted, in a pod that Istio before 1.19 injects, where
    /// the sidecar spoils it as it is: `httpGet` and `grpc` at a port that demands mutual TLS or is declared
    /// for another protocol, `tcpSocket` at any captured port.
    ///
    /// ## Why it matters
    /// The rewrite looks at init containers since 1.19. Before, their probes meet the sidecar as they are
    /// written, while those of the containers beside them are rewritten.
    ///
    /// ## Example
    /// ```yaml
    /// # meshprobe check --mesh-version 1.18
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
    ///   initContainers:
    ///     - name: log
    ///       image: registry.example/log:1
    ///       restartPolicy: Always
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8081
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// # meshprobe check --mesh-version 1.18
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
    ///   initContainers:
    ///     - name: log
    ///       image: registry.example/log:1
    ///       restartPolicy: Always
    ///       livenessProbe:
    ///         exec:
    ///           command: [/bin/alive]
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: what else tells that the container is alive is for you to say.
    ///
    /// ## References
    /// - Istio documentation: "Upgrade Notes"
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Kubernetes documentation: "Sidecar Containers"
    "init-probe-needs-1-19", Warning, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    release_gap::report(&RULE, scene, |handler| {
        let is_init = handler.container.list == ContainerList::Init;
        is_init.then_some("probes of init containers")
    })
}
