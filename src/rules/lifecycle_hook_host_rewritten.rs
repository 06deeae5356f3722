//! Rule `lifecycle-hook-host-rewritten`.

use super::rule::declare_rule;
use super::{Scene, disable_rewrite, scene};
use crate::finding::{Finding, Severity};
use crate::kube::Slot;
use crate::mesh::Version;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};

declare_rule! {
    /// Finds lifecycle hooks that call another host, which the rewrite breaks.
    ///
    /// ## What it checks
    /// A `postStart` or `preStop` hook with `httpGet.host` that the injector rewrites (Istio 1.25
    /// and later), or that points at the agent already. Where the release is older it is a note: the
    /// upgrade will break the hook.
    ///
    /// ## Why it matters
    /// The rewrite keeps the host and replaces port and path: the kubelet asks the other host for
    /// the agent of this pod. Up to Istio 1.24 hooks were left alone, so the upgrade breaks them. A
    /// failed `preStop` is only an event; a failed `postStart` kills the container.
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
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       lifecycle:
    ///         preStop:
    ///           httpGet:
    ///             host: registry.example
    ///             path: /deregister
    ///             port: 8500
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
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       lifecycle:
    ///         preStop:
    ///           httpGet:
    ///             host: registry.example
    ///             path: /deregister
    ///             port: 8500
    /// ```
    ///
    /// ## Fix safety
    /// Switching the rewrite off is unsafe, as it holds for all probes and hooks of the pod, and
    /// only shown where it would spoil another one or the pod was rewritten ahead.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Kubernetes documentation: "Container Lifecycle Hooks"
    "lifecycle-hook-host-rewritten", Error, fix: Always, scope: Workloads
}

/// Since when hooks are rewritten.
const REWRITES_HOOKS: Version = Version::new(1, 25);

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let hooks = scene
        .handlers()
        .filter(|(_, handler)| handler.handler.slot.is_lifecycle());
    hooks
        .filter_map(|(pod, handler)| match handler.verdict.cause {
            Cause::HostKept => Some(broken(scene, pod, handler)),
            Cause::OtherHost => to_break(scene, pod, handler),
            _ => None,
        })
        .collect()
}

fn broken(
    scene: &Scene<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Finding {
    let result = match handler.handler.slot {
        Slot::PostStart => "the kubelet then kills the container",
        _ => "the pod then stops without it",
    };
    let message = format!(
        "{} will fail, and {result}: the rewrite keeps `host`, so the call goes to {}:{}",
        handler.title(),
        host(handler),
        pod.status_port.value,
    );
    report(scene, pod, handler, message)
}

/// The release leaves hooks alone, and the next ones do not.
fn to_break(
    scene: &Scene<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    let release = pod.release.value?;
    if !pod.rewrite.value || release >= REWRITES_HOOKS {
        return None;
    }
    let message = format!(
        "{} works before Istio {REWRITES_HOOKS} only: from then on the rewrite sends the call to {}:{}",
        handler.title(),
        host(handler),
        pod.status_port.value,
    );
    let mut finding = report(scene, pod, handler, message);
    finding.severity = Severity::Note;
    finding.outcome = None;
    Some(finding)
}

fn host<'a>(handler: &'a HandlerPrediction<'_>) -> &'a str {
    let action = handler.handler.action.as_ref().ok();
    action.and_then(|action| action.host()).unwrap_or_default()
}

fn report(
    scene: &Scene<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    message: String,
) -> Finding {
    let span = handler.handler.field_span("host");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some("an exec hook would do too: those are not rewritten".to_owned());
    disable_rewrite::offer(scene, pod, &mut finding);
    finding
}
