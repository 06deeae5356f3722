//! Rule `osm-probe-port-in-use`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::Finding;
use crate::kube::{Container, ContainerList, ContainerPort};
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
    let declared = scene.pods().filter(|pod| is_to_be_injected(scene, pod));
    let declared = declared.flat_map(|pod| {
        let containers = pod.workload.template.containers_in(ContainerList::Main);
        let ports = containers.into_iter().flat_map(|container| {
            let each = container.ports().collect::<Vec<_>>();
            each.into_iter().map(move |port| (container.clone(), port))
        });
        ports.filter_map(|(container, port)| of_declaration(pod, &container, port))
    });
    probes.chain(declared).collect()
}

/// An injected pod declares the ports of the proxy with good reason.
fn is_to_be_injected(scene: &Scene<'_, '_>, pod: &WorkloadPrediction<'_>) -> bool {
    pod.mesh.value == Some(Mesh::Osm)
        && pod.dataplane.value == Dataplane::Other
        && !scene.context.brings_proxy(&pod.workload)
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

fn of_declaration(
    pod: &WorkloadPrediction<'_>,
    container: &Container<'_>,
    port: ContainerPort<'_>,
) -> Option<Finding> {
    let number = port.number?;
    let owner = port_owner(pod, number)?;
    let message = format!(
        "container `{}` listens on port {number}, where the proxy listens too ({owner})",
        container.name()
    );
    let entry = port.node.entry("containerPort")?;
    let mut finding = scene::about_workload(&RULE, &pod.workload, entry.value.span(), message);
    finding.container = Some(container.name().to_owned());
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    finding.help = Some("let the application listen on another port".to_owned());
    Some(finding)
}
