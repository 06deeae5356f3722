//! Rule `peerauth-portlevel-unknown-port`.

use super::port_exception::{self, Exception};
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;

declare_rule! {
    /// Finds exceptions for a port that nothing in the tree listens on.
    ///
    /// ## What it checks
    /// A key of `portLevelMtls` that appears nowhere in the pods that the policy selects: not as a
    /// port, not in a probe, a Service, a `Sidecar`, a command line, an env variable or an
    /// annotation.
    ///
    /// ## Why it matters
    /// An exception for the wrong port has no effect, and nobody says so. It may also be a door
    /// that was left open: the exception holds as soon as something listens there, with or without
    /// a Service.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   selector:
    ///     matchLabels:
    ///       app: web
    ///   mtls:
    ///     mode: STRICT
    ///   portLevelMtls:
    ///     9999:
    ///       mode: DISABLE
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     app: web
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       ports:
    ///         - containerPort: 8080
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   selector:
    ///     matchLabels:
    ///       app: web
    ///   mtls:
    ///     mode: STRICT
    ///   portLevelMtls:
    ///     8080:
    ///       mode: DISABLE
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     app: web
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       ports:
    ///         - containerPort: 8080
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the right port is not known.
    ///
    /// ## References
    /// - Istio reference: "PeerAuthentication"
    "peerauth-portlevel-unknown-port", Warning, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let exceptions = port_exception::unmet(scene);
    let unknown = exceptions
        .iter()
        .filter(|exception| exception.service_ports.is_empty() && !exception.is_mentioned());
    unknown.filter_map(report).collect()
}

fn report(exception: &Exception<'_, '_>) -> Option<Finding> {
    let (policy, port) = (exception.policy, exception.port);
    let first = exception.pods.first()?;
    let whom = match exception.pods.len() {
        1 => format!("{} does not name", first.workload.title()),
        count => format!("none of the {count} selected workloads names"),
    };
    let message = format!(
        "the exception for port {port} meets nothing: {whom} this port, and no Service leads to it"
    );
    let span = exception.entry.key.span();
    let mut finding = scene::about_object(&RULE, policy, span, message);
    finding.field = Some(format!("spec.portLevelMtls.{port}"));
    let object = &first.workload.object;
    let said = "selected by the policy";
    finding
        .related
        .push(object.label_at(object.name_span(), said));
    let help = "write the port that the container listens on, or declare it under `ports` of the \
                container";
    finding.help = Some(help.to_owned());
    Some(finding)
}
