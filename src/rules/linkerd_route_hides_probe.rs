//! Rule `linkerd-route-hides-probe`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds probes of Linkerd pods that lose their route to an HTTPRoute.
    ///
    /// ## What it checks
    /// An `httpGet` probe at a port whose `Server` has an HTTPRoute. The probe is fine where one of the
    /// routes takes its path, and an AuthorizationPolicy for that route, or for the port, lets in
    /// clients without a certificate.
    ///
    /// ## Why it matters
    /// Linkerd makes a route for each probe, so that the kubelet is let in. As soon as one HTTPRoute is
    /// attached to the Server it makes no more: the probe is refused, and pods that were ready for
    /// months no longer are.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: policy.linkerd.io/v1beta3
    /// kind: Server
    /// metadata:
    ///   name: web
    ///   namespace: demo
    /// spec:
    ///   podSelector:
    ///     matchLabels:
    ///       app: web
    ///   port: 8080
    ///   proxyProtocol: HTTP/1
    /// ---
    /// apiVersion: policy.linkerd.io/v1beta3
    /// kind: HTTPRoute
    /// metadata:
    ///   name: api
    ///   namespace: demo
    /// spec:
    ///   parentRefs:
    ///     - name: web
    ///       kind: Server
    ///       group: policy.linkerd.io
    ///   rules:
    ///     - matches:
    ///         - path:
    ///             type: PathPrefix
    ///             value: /api
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
    ///   labels:
    ///     app: web
    ///   annotations:
    ///     linkerd.io/inject: enabled
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
    /// ## Use instead
    /// ```yaml
    /// apiVersion: policy.linkerd.io/v1beta3
    /// kind: Server
    /// metadata:
    ///   name: web
    ///   namespace: demo
    /// spec:
    ///   podSelector:
    ///     matchLabels:
    ///       app: web
    ///   port: 8080
    ///   proxyProtocol: HTTP/1
    /// ---
    /// apiVersion: policy.linkerd.io/v1beta3
    /// kind: HTTPRoute
    /// metadata:
    ///   name: api
    ///   namespace: demo
    /// spec:
    ///   parentRefs:
    ///     - name: web
    ///       kind: Server
    ///       group: policy.linkerd.io
    ///   rules:
    ///     - matches:
    ///         - path:
    ///             type: PathPrefix
    ///             value: /api
    /// ---
    /// apiVersion: policy.linkerd.io/v1beta3
    /// kind: HTTPRoute
    /// metadata:
    ///   name: probes
    ///   namespace: demo
    /// spec:
    ///   parentRefs:
    ///     - name: web
    ///       kind: Server
    ///       group: policy.linkerd.io
    ///   rules:
    ///     - matches:
    ///         - path:
    ///             type: Exact
    ///             value: /healthz
    /// ---
    /// apiVersion: policy.linkerd.io/v1alpha1
    /// kind: NetworkAuthentication
    /// metadata:
    ///   name: nodes
    ///   namespace: demo
    /// spec:
    ///   networks:
    ///     - cidr: 0.0.0.0/0
    /// ---
    /// apiVersion: policy.linkerd.io/v1alpha1
    /// kind: AuthorizationPolicy
    /// metadata:
    ///   name: probes
    ///   namespace: demo
    /// spec:
    ///   targetRef:
    ///     group: policy.linkerd.io
    ///     kind: HTTPRoute
    ///     name: probes
    ///   requiredAuthenticationRefs:
    ///     - name: nodes
    ///       kind: NetworkAuthentication
    ///       group: policy.linkerd.io
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
    ///   labels:
    ///     app: web
    ///   annotations:
    ///     linkerd.io/inject: enabled
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
    /// There is no fix by machine: it takes a route and an authorization, which are for the owner of the
    /// policies to write.
    ///
    /// ## References
    /// - linkerd2, `policy-controller/k8s/index/src/inbound/index.rs`
    /// - Linkerd documentation: "Authorization Policy"
    "linkerd-route-hides-probe", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::Linkerd)
        || handler.verdict.cause != Cause::Other(Trouble::RouteHidesProbe)
    {
        return None;
    }
    let message = format!(
        "{} is refused: with an HTTPRoute at the Server, Linkerd makes no route for probes",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some("add an HTTPRoute for the path of the probe, with an AuthorizationPolicy that asks for no certificate".to_owned());
    Some(finding)
}
