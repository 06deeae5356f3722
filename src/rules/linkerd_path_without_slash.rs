//! Rule `linkerd-path-without-slash`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::{Applicability, Finding, Fix};
use crate::kube::Action;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};
use crate::yaml::{Change, Value};

declare_rule! {
    /// Finds probe paths without a slash in front, for which Linkerd makes no route.
    ///
    /// ## What it checks
    /// An `httpGet` probe whose path has no slash in front, at a port that lets in clients of the mesh
    /// alone.
    ///
    /// ## Why it matters
    /// The kubelet adds the slash, Linkerd does not: the path that it reads is empty, or does not parse,
    /// and the route that it makes never fits. The probe is refused.
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
    ///       readinessProbe:
    ///         httpGet:
    ///           path: healthz
    ///           port: 8080
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
    ///       readinessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// A slash in front is what the kubelet asks for anyway; the fix is safe.
    ///
    /// ## References
    /// - linkerd2, `policy-controller/k8s/index/src/inbound/workload.rs`
    "linkerd-path-without-slash", Error, fix: Always, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::Linkerd)
        || handler.verdict.cause != Cause::Other(Trouble::PathWithoutSlash)
    {
        return None;
    }
    let message = format!(
        "{} is refused: Linkerd makes no route for a path without a slash in front",
        handler.title()
    );
    let span = handler.handler.field_span("path");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some("write a slash in front of the path".to_owned());
    finding.fix = fix(pod, handler);
    Some(finding)
}

fn fix(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Fix> {
    let Ok(Action::HttpGet(http)) = &handler.handler.action else {
        return None;
    };
    let path = format!("/{}", http.path);
    let title = format!("write the path as `{path}`");
    let change = Change::Set {
        route: handler.handler.route.child("httpGet").child("path"),
        value: Value::from(path.as_str()),
    };
    let object = &pod.workload.object;
    Some(scene::fix(object, title, Applicability::Safe, vec![change]))
}
