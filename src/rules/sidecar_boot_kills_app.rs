//! Rule `sidecar-boot-kills-app`.

use super::rule::declare_rule;
use super::{Scene, hold_application, scene};
use crate::finding::Finding;
use crate::kube::{ContainerList, Slot, integer};
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};

declare_rule! {
    /// Finds liveness probes that may give up before the sidecar is up.
    ///
    /// ## What it checks
    /// A liveness probe that the agent answers for, without a startup probe beside it, that gives
    /// up within 10 seconds (`initialDelaySeconds` + `periodSeconds` × `failureThreshold`), while
    /// the sidecar is neither a native one nor waited for.
    ///
    /// ## Why it matters
    /// The sidecar starts after the application. Until its agent listens, every rewritten probe is
    /// refused, so a slow start of the sidecar has the kubelet kill an application that is fine.
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
    ///     sidecar.istio.io/nativeSidecar: "false"
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    ///         periodSeconds: 1
    ///         failureThreshold: 2
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
    ///     sidecar.istio.io/nativeSidecar: "false"
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    ///         periodSeconds: 1
    ///         failureThreshold: 2
    ///       startupProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// Holding the application back until the sidecar is up is unsafe: it changes the order of the
    /// containers and delays the start. There is no fix where the pod configures its proxy already.
    ///
    /// ## References
    /// - Istio documentation: "Resource Annotations"
    /// - Kubernetes documentation: "Configure Liveness, Readiness and Startup Probes"
    "sidecar-boot-kills-app", Note, fix: Sometimes, scope: Workloads
}

/// A sidecar that takes longer to come up is a fault of its own.
const BOOT_SECONDS: i64 = 10;

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
    let container = &handler.container;
    let is_liveness = handler.handler.slot == Slot::Liveness;
    let by_agent = handler.verdict.cause == Cause::Rewritten;
    if !is_liveness || !by_agent || container.list != ContainerList::Main {
        return None;
    }
    if container.has_handler(Slot::Startup) {
        return None;
    }
    let patience = patience(handler);
    if patience >= BOOT_SECONDS {
        return None;
    }
    let first = scene.context.sidecar_starts_first(&pod.workload);
    // A note that holds on old nodes only is worth nothing where nobody knows the nodes.
    if first.value || scene.context.nodes_decide_order(&pod.workload) {
        return None;
    }
    let message = format!(
        "{} gives up after {patience} s: until the sidecar is up it is refused, so a slow start of \
         the sidecar kills the application",
        handler.title(),
    );
    let span = handler.handler.key.span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.outcome = None;
    scene::rest_on_fact(&mut finding, &first);
    finding.help = Some("add a startupProbe, or wait for the sidecar".to_owned());
    hold_application::offer(pod, &mut finding);
    Some(finding)
}

/// How long the kubelet waits before it kills the container, in seconds; what is not written is
/// as the API server fills it in.
fn patience(handler: &HandlerPrediction<'_>) -> i64 {
    let number = |key: &str, default: i64| {
        let written = handler.handler.node.get(key).and_then(integer);
        written.filter(|&number| number > 0).unwrap_or(default)
    };
    let tries = number("periodSeconds", 10).saturating_mul(number("failureThreshold", 3));
    number("initialDelaySeconds", 0).saturating_add(tries)
}
