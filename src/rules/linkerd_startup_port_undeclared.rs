//! Rule `linkerd-startup-port-undeclared`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds startup probes of Linkerd pods at ports that nothing declares.
    ///
    /// ## What it checks
    /// An `httpGet` startup probe at a port that lets in clients of the mesh alone, and that is neither
    /// a `containerPort` of the pod nor the port of a liveness or readiness probe.
    ///
    /// ## Why it matters
    /// Linkerd's injector tells the proxy of the ports that are declared and of those of liveness and
    /// readiness probes, not of startup probes. The proxy has no policy for such a port when the probe
    /// comes, so the route that is made for the probe may not hold there.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
    ///   annotations:
    ///     linkerd.io/inject: enabled
    ///     config.linkerd.io/default-inbound-policy: all-authenticated
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       startupProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8081
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
    ///     linkerd.io/inject: enabled
    ///     config.linkerd.io/default-inbound-policy: all-authenticated
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       ports:
    ///         - containerPort: 8081
    ///       startupProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8081
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the port may be a typing error.
    ///
    /// ## References
    /// - linkerd2, `pkg/inject/inject.go`
    "linkerd-startup-port-undeclared", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::Linkerd)
        || handler.verdict.cause != Cause::Other(Trouble::PortUndeclared)
    {
        return None;
    }
    let message = format!(
        "{} may be refused: Linkerd tells its proxy nothing of an undeclared port of a startup probe",
        handler.title()
    );
    let span = handler.handler.field_span("port");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some("declare the port under `ports` of the container".to_owned());
    Some(finding)
}
