//! Rule `probe-field-invalid`.

use super::rule::declare_rule;
use super::yaml11_header_value::culprit;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::kube::{Objection, Unreadable, refused_number};
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::yaml::Route;

declare_rule! {
    /// Finds probes and hooks that the API server refuses, or that the kubelet cannot run.
    ///
    /// ## What it checks
    /// A probe or hook that the Kubernetes API does not take: a field of another type (a list where
    /// a port belongs, a text where seconds belong), no handler, a scheme other than HTTP and HTTPS,
    /// a probe on an init container that ends. Also a `tcpSocket` hook that nothing rewrites.
    /// Header values, container names, ports out of range and several handlers in one probe have
    /// rules of their own.
    ///
    /// ## Why it matters
    /// The API server refuses the whole object, so the workload is not updated. Until then nobody can
    /// say what the mesh will do to the probe. A `tcpSocket` hook is taken, but the kubelet knows no
    /// such hooks: it fails whenever it is to run.
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
    "probe-field-invalid", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter(|(_, handler)| culprit(&handler.handler).is_none())
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let (span, within, reason) = match &handler.handler.action {
        Err(Unreadable::Malformed(error)) => {
            (error.span, error.route.clone(), in_words(&error.message))
        }
        Err(Unreadable::Placeholder(_)) => return None,
        Ok(_) if handler.verdict.cause == Cause::HookUnsupported => {
            return Some(never_runs(pod, handler));
        }
        Ok(_) => {
            let refusal = handler
                .refused_by_api()
                .filter(|refusal| refusal.objection == Objection::Field)?;
            let number = refused_number(&handler.handler);
            let span = match number {
                Some((node, _)) => node.span(),
                None if refusal.field.is_empty() => handler.handler.key.span(),
                None => handler.handler.field_span(refusal.field),
            };
            (span, Route::root(), refusal.reason)
        }
    };
    let message = format!("{} is refused by the API server: {reason}", handler.title());
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.field = Some(handler.handler.within.join(&within).to_string());
    finding.help =
        Some("write what the Kubernetes API wants; it refuses the whole object".to_owned());
    Some(finding)
}

/// The API server lets it pass.
fn never_runs(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let message = format!(
        "{} always fails: the kubelet runs no tcpSocket hooks",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some("use httpGet, exec or sleep".to_owned());
    finding
}

/// Says the types of the API in words.
fn in_words(message: &str) -> String {
    let message = message.replace(
        "expected IntOrString",
        "expected a port number or a port name",
    );
    message.replace("expected i32", "expected an integer")
}
