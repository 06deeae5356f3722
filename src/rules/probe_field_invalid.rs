//! Rule `probe-field-invalid`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::kube::Unreadable;

declare_rule! {
    /// Finds probes and hooks that the API server refuses to read.
    ///
    /// ## What it checks
    /// A field of a probe or hook that has another type than the Kubernetes API wants: a list where a
    /// port belongs, a text where seconds belong.
    ///
    /// ## Why it matters
    /// The API server refuses the whole object, so the workload is not updated. Until then nobody can
    /// say what the mesh will do to the probe.
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
    ///           port: 8080
    ///         timeoutSeconds: 5s
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
    ///           port: 8080
    ///         timeoutSeconds: 5
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine.
    ///
    /// ## References
    /// - Kubernetes API reference: Probe, LifecycleHandler
    "probe-field-invalid", Error
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let malformed = scene
        .handlers()
        .filter_map(|(pod, handler)| match &handler.handler.action {
            Err(Unreadable::Malformed(error)) => Some((pod, handler, error)),
            _ => None,
        });
    malformed
        .map(|(pod, handler, error)| {
            let reason = in_words(&error.message);
            let message = format!("{} is refused by the API server: {reason}", handler.title());
            let mut finding = scene::about_handler(&RULE, pod, handler, error.span, message);
            finding.field = Some(handler.handler.within.join(&error.route).to_string());
            finding.help = Some("write the type that the Kubernetes API wants".to_owned());
            finding
        })
        .collect()
}

/// Says the types of the API in words.
fn in_words(message: &str) -> String {
    let message = message.replace(
        "expected IntOrString",
        "expected a port number or a port name",
    );
    message.replace("expected i32", "expected an integer")
}
