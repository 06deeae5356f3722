//! Rule `http-probe-host-rewritten`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::{Applicability, Finding};
use crate::mesh::Mesh;
use crate::mesh::istio::keys;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};
use crate::yaml::Change;

declare_rule! {
    /// Finds httpGet probes with a host: the rewrite keeps it, and the kubelet asks that host.
    ///
    /// ## What it checks
    /// An `httpGet` probe with `host` of a pod with a sidecar whose probes the injector rewrites: of
    /// Istio, of Consul, and of Kuma before 2.9. OSM has a rule of its own.
    ///
    /// ## Why it matters
    /// The injector changes path, port and scheme, and leaves `host` as it is. The kubelet then asks
    /// HOST for the agent or the proxy, where nobody listens. `127.0.0.1` and `localhost` mean the node here, not
    /// the container. A manifest cannot know the only host that would work, the address of the pod.
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
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    ///           host: 127.0.0.1
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
    /// Removing `host` is unsafe: the probe then tests the pod, which is another target. A name that
    /// the application needs belongs into the header `Host`.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Kubernetes documentation: "Configure Liveness, Readiness and Startup Probes"
    "http-probe-host-rewritten", Error, fix: Always, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene.handlers().filter(|(_, handler)| {
        handler.verdict.cause == Cause::HostKept && !handler.handler.slot.is_lifecycle()
    });
    let beside = scene.handlers().filter(|(pod, handler)| {
        let is_kept = handler.verdict.cause == Cause::Other(Trouble::HostKept);
        is_kept && pod.mesh.value != Some(Mesh::Osm)
    });
    let struck = struck.chain(beside);
    struck.map(|(pod, handler)| report(pod, handler)).collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let host = match &handler.handler.action {
        Ok(action) => action.host().unwrap_or_default(),
        Err(_) => "",
    };
    let message = format!(
        "{} will fail: the rewrite keeps `host`, so the kubelet asks {host}:{} instead of the pod",
        handler.title(),
        handler
            .becomes
            .as_ref()
            .map_or(pod.status_port.value, |becomes| becomes.port),
    );
    let span = handler.handler.field_span("host");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    let cure = "remove `host`, and give the header `Host` if the application needs a name";
    finding.help = Some(if handler.verdict.cause == Cause::HostKept {
        format!(
            "{cure}; to keep testing {host}, switch the rewrite off with `{}: \"false\"`",
            keys::REWRITE_PROBERS
        )
    } else {
        cure.to_owned()
    });
    let object = &pod.workload.object;
    finding.fix = Some(scene::fix(
        object,
        "remove `host`: the kubelet then asks the pod".to_owned(),
        Applicability::Unsafe,
        vec![Change::Remove {
            route: handler.handler.route.child("httpGet").child("host"),
        }],
    ));
    finding
}
