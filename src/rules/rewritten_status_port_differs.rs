//! Rule `rewritten-status-port-differs`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::{Applicability, Finding, Fix};
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, Value};

declare_rule! {
    /// Finds probes that were rewritten ahead for another agent than the pod's.
    ///
    /// ## What it checks
    /// An `httpGet` handler whose path is one of the agent's, and which has its entry in
    /// `ISTIO_KUBE_APP_PROBERS`, on a port that is not the agent's (annotation `status.sidecar.istio.io/port`,
    /// else the port of the mesh, else 15020), or by HTTPS, which the agent does not speak.
    ///
    /// ## Why it matters
    /// With the rewrite switched off nobody corrects the port: the connection is refused. With the rewrite on the
    /// injector moves the probe to the right port, but takes the written one for the application's: the agent is
    /// told to ask itself on a port where nobody listens, and answers 500.
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
    ///     sidecar.istio.io/rewriteAppHTTPProbers: "false"
    ///     status.sidecar.istio.io/port: '15555'
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /app-health/web/livez
    ///           port: 15020
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
    /// Setting the port of the agent, or the scheme HTTP, is unsafe, like all changes to a pod that was rewritten
    /// ahead. There is no fix where that port is no port, or not known.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Istio documentation: "Resource Annotations"
    "rewritten-status-port-differs", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(scene, pod, handler))
        .collect()
}

fn report<'t>(
    scene: &Scene<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<Finding> {
    let title = handler.title();
    let written = handler.port.unwrap_or_default();
    let agent = pod.agent_port.value;
    let (field, message) = match handler.verdict.cause {
        Cause::HttpsAtAgent => (
            "scheme",
            format!(
                "{title} will fail: it asks the agent by HTTPS, and the agent speaks plain HTTP"
            ),
        ),
        Cause::RewrittenOtherPort if handler.rewritten => (
            "port",
            format!(
                "{title} will fail: the injector does not know port {written} for the agent's, and \
                 has the agent ask the pod there, where nobody listens",
            ),
        ),
        Cause::RewrittenOtherPort => (
            "port",
            format!(
                "{title} will fail: it asks the agent on port {written}, but the agent of this pod \
                 listens on {agent}",
            ),
        ),
        _ => return None,
    };
    let span = handler.handler.field_span(field);
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.fix = fix(scene, pod, handler);
    if field == "scheme" {
        let said = "the agent takes care of the application's HTTPS by itself";
        finding.help = Some(said.to_owned());
    } else if finding.fix.is_none() {
        let said = "give the agent a port from 1 to 65535, and write it into the probe";
        finding.help = Some(said.to_owned());
    }
    Some(finding)
}

fn fix<'t>(
    scene: &Scene<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<Fix> {
    let object = &pod.workload.object;
    let route = handler.handler.route.child("httpGet");
    if handler.verdict.cause == Cause::HttpsAtAgent {
        let value = Value::from("HTTP");
        let change = Change::Set {
            route: route.child("scheme"),
            value,
        };
        let title = "ask the agent by plain HTTP";
        return Some(scene::fix(
            object,
            title,
            Applicability::Unsafe,
            vec![change],
        ));
    }
    // The injector moves a probe by itself from the port that it knows the agent by.
    let port = if handler.rewritten {
        scene.context.mesh_status_port(&pod.workload).value
    } else {
        pod.agent_port.value
    };
    if !(1..=65535).contains(&port) {
        return None;
    }
    let change = Change::Set {
        route: route.child("port"),
        value: Value::Int(port),
    };
    let title = format!("ask on port {port}");
    Some(scene::fix(
        object,
        title,
        Applicability::Unsafe,
        vec![change],
    ))
}
