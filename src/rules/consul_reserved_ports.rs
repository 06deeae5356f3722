//! Rule `consul-reserved-ports`.

use super::rule::declare_rule;
use super::{Scene, proxy_ports, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction, port_owner};

declare_rule! {
    /// Finds probes and containers on ports that belong to Consul's proxy.
    ///
    /// ## What it checks
    /// A probe of a pod that Consul injects, on port 20000, 20200 or 20300 to 20599, and a container
    /// that declares one of them. The last are those of exposed probes: a probe that asks one was
    /// rewritten already.
    ///
    /// ## Why it matters
    /// Consul registers what it finds as the original. A probe that names the port of an exposed
    /// listener makes the proxy ask itself, without end. Containers of a pod share their ports: of an
    /// application and a proxy on the same one, one does not start.
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
    ///         httpGet:
    ///           path: /healthz
    ///           port: 20300
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
    /// There is no fix by machine: the port of the application is not known.
    ///
    /// ## References
    /// - consul-k8s, `control-plane/connect-inject/constants`
    "consul-reserved-ports", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let probes = scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler));
    let declared = proxy_ports::declared(scene, &RULE, Mesh::Consul, port_owner);
    probes.chain(declared).collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::Consul)
        || handler.verdict.cause != Cause::Other(Trouble::PortOfProxy)
    {
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
    finding.help = Some(
        "write the port of the application; Consul rewrites the probe at admission".to_owned(),
    );
    Some(finding)
}
