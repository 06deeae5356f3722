//! Rule `rewritten-without-sidecar`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::{Dataplane, proxy_container};
use crate::finding::Finding;
use crate::kube::Action;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};

declare_rule! {
    /// Finds probes that point at an agent which is not there.
    ///
    /// ## What it checks
    /// An `httpGet` handler whose path is one of the agent's (`/app-health/<container>/livez` …), or a
    /// container `istio-proxy` with `image: auto`, in a pod that gets no sidecar.
    ///
    /// ## Why it matters
    /// Nobody listens on the agent's port, so every such probe is refused: typical of manifests that
    /// were exported from a cluster, or rewritten ahead for a namespace that is not injected. The image
    /// `auto` is a request to the injector; without it the image cannot be pulled.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
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
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /app-health/web/livez
    ///           port: 15020
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
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
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the original probe has to be written again, or the pod injected.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    "rewritten-without-sidecar", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let handlers = scene
        .handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::RewrittenWithoutSidecar)
        .map(|(pod, handler)| probe(pod, handler));
    handlers
        .chain(scene.pods().filter_map(partial_container))
        .collect()
}

fn probe(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let path = match &handler.handler.action {
        Ok(Action::HttpGet(http)) => http.path.as_str(),
        _ => "",
    };
    let message = format!(
        "{} will fail: it asks the agent ({path}:{}), but {} gets no sidecar",
        handler.title(),
        handler.port.unwrap_or_default(),
        pod.workload.title(),
    );
    let span = handler.handler.field_span("path");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some(
        "have the pod injected, or bring the application's own path and port back: `meshprobe rewrite \
         --undo` does where the prober env is still there"
            .to_owned(),
    );
    finding
}

/// A sidecar that nobody will fill in.
fn partial_container(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    if !matches!(pod.dataplane.value, Dataplane::None | Dataplane::Ambient) {
        return None;
    }
    let proxy = proxy_container(&pod.workload)?;
    let image = proxy
        .node
        .get("image")
        .filter(|image| image.text() == Some("auto"))?;
    let message = format!(
        "container `{}` can't start: the image `auto` is for the injector to replace, but {} gets \
         no sidecar",
        proxy.name(),
        pod.workload.title(),
    );
    let mut finding = scene::about_workload(&RULE, &pod.workload, image.span(), message);
    finding.container = Some(proxy.name().to_owned());
    finding.field = Some(proxy.field("image").to_string());
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    finding.help = Some("have the pod injected, or remove the container".to_owned());
    Some(finding)
}
