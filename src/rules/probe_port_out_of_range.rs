//! Rule `probe-port-out-of-range`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::kube::Objection;
use crate::predict::{HandlerPrediction, WorkloadPrediction};

declare_rule! {
    /// Finds probe ports that are not between 1 and 65535.
    ///
    /// ## What it checks
    /// A probe or hook whose port is an integer below 1 or above 65535, or the name of a port that
    /// the container declares with such a number.
    ///
    /// ## Why it matters
    /// The API server refuses a workload with such a template. A bare Pod gets through where its
    /// probes are rewritten, because the injector changes the port before it is checked; the agent
    /// then answers 500 for ever.
    ///
    /// ## Example
    /// ```yaml
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
    ///           port: 70000
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
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
    ///           port: 7000
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the port of the application is not known.
    ///
    /// ## References
    /// - Kubernetes API reference: HTTPGetAction, TCPSocketAction, GRPCAction, ContainerPort
    "probe-port-out-of-range", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let refusal = handler
        .refused_by_api()
        .filter(|refusal| refusal.objection == Objection::PortRange)?;
    let message = format!(
        "{} is refused by the API server: {}",
        handler.title(),
        refusal.reason
    );
    let span = handler.handler.field_span(refusal.field);
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some("write the port of the application".to_owned());
    Some(finding)
}
