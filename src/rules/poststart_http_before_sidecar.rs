//! Rule `poststart-http-before-sidecar`.

use super::rule::declare_rule;
use super::{Scene, hold_application, scene};
use crate::context::Dataplane;
use crate::finding::Finding;
use crate::kube::{Action, ContainerList, Slot};
use crate::predict::{HandlerPrediction, Outcome, WorkloadPrediction};

declare_rule! {
    /// Finds postStart hooks over the network that run before the sidecar is there.
    ///
    /// ## What it checks
    /// A `postStart` hook of a pod with a sidecar that goes to the agent (rewritten, since 1.25)
    /// or, as `httpGet`, to a port that the redirect takes to the sidecar, while the sidecar is
    /// neither a native one nor waited for.
    ///
    /// ## Why it matters
    /// The kubelet runs the hook as soon as its container has started, and starts the next
    /// container only afterwards; the sidecar is the last one. The first call of every new pod is
    /// refused, and the container is killed and started again.
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
    ///       lifecycle:
    ///         postStart:
    ///           httpGet:
    ///             path: /warm
    ///             port: 8080
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
    ///     proxy.istio.io/config: "{holdApplicationUntilProxyStarts: true}"
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       lifecycle:
    ///         postStart:
    ///           httpGet:
    ///             path: /warm
    ///             port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// Holding the application back until the sidecar is up is unsafe: it changes the order of the
    /// containers and delays the start. There is no fix where the pod configures its proxy already.
    ///
    /// ## References
    /// - Istio documentation: "Resource Annotations"
    /// - Kubernetes documentation: "Container Lifecycle Hooks"
    "poststart-http-before-sidecar", Warning, fix: Sometimes, scope: Workloads
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
    let is_hook = handler.handler.slot == Slot::PostStart;
    let in_mesh = pod.dataplane.value == Dataplane::Sidecar;
    if !is_hook || !in_mesh || handler.verdict.outcome != Outcome::Ok || !needs_sidecar(handler) {
        return None;
    }
    let first = if handler.container.list == ContainerList::Init {
        // Those that are held back are the others.
        scene.context.sidecar_is_native(&pod.workload)
    } else {
        scene.context.sidecar_starts_first(&pod.workload)
    };
    if first.value {
        return None;
    }
    let message = format!(
        "{} runs before the sidecar is there: its first call is refused, and every new pod starts \
         the container twice",
        handler.title(),
    );
    let span = handler.handler.key.span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.outcome = None;
    scene::rest_on_fact(&mut finding, &first);
    finding.help = Some("wait for the sidecar, or make it an exec hook".to_owned());
    if handler.container.list == ContainerList::Main {
        hold_application::offer(pod, &mut finding);
    }
    Some(finding)
}

/// The call ends at the agent or at the sidecar itself.
fn needs_sidecar(handler: &HandlerPrediction<'_>) -> bool {
    let action = handler.handler.action.as_ref().ok();
    let captured = handler
        .captured
        .as_ref()
        .is_some_and(|captured| captured.value);
    let is_http = matches!(action, Some(Action::HttpGet(http)) if http.host.is_none());
    handler.rewritten || handler.agent_path().is_some() || is_http && captured
}
