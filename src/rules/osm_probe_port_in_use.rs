//! Rule `osm-probe-port-in-use`.

use super::rule::declare_rule;
use super::{Scene, proxy_ports, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction, port_owner};

declare_rule! {
    /// Finds ports of the application that belong to the proxy of OSM.
    ///
    /// ## What it checks
    /// A pod that OSM injects, and a container that declares one of the ports 15000, 15003, 15010 and
    /// 15901 to 15904, or a probe that asks one.
    ///
    /// ## Why it matters
    /// The proxy listens there, and containers of a pod share their ports: one of the two does not
    /// start. A probe of such a port asks the proxy about itself, or makes it ask itself.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: bookstore
    ///   labels:
    ///     openservicemesh.io/monitored-by: osm
    ///   annotations:
    ///     openservicemesh.io/sidecar-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: bookstore
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       ports:
    ///         - containerPort: 15003
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: bookstore
    ///   labels:
    ///     openservicemesh.io/monitored-by: osm
    ///   annotations:
    ///     openservicemesh.io/sidecar-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: bookstore
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       ports:
    ///         - containerPort: 8080
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the application has to listen elsewhere.
    ///
    /// ## References
    /// - OSM v1.2.4, `pkg/constants`, `pkg/injector/iptables.go`
    "osm-probe-port-in-use", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let probes = scene
        .handlers()
        .filter_map(|(pod, handler)| of_probe(pod, handler));
    let declared = proxy_ports::declared(scene, &RULE, Mesh::Osm, port_owner);
    probes.chain(declared).collect()
}

fn of_probe(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let is_osm = pod.mesh.value == Some(Mesh::Osm);
    if !is_osm || handler.verdict.cause != Cause::Other(Trouble::PortOfProxy) {
        return None;
    }
    let port = handler.port?;
    let owner = port_owner(pod, port)?;
    let message = format!(
        "{} asks port {port}, which is the proxy's own ({owner})",
        handler.title()
    );
    let span = handler.handler.field_span("port");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some("ask a port of the application".to_owned());
    Some(finding)
}
