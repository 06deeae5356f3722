//! Rule `osm-podip-only-app`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::kube::Container;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::yaml::NodeRef;

declare_rule! {
    /// Finds applications behind OSM that may listen on the address of the pod alone.
    ///
    /// ## What it checks
    /// A container with a probe that OSM rewrites, whose command or arguments hand the address of the
    /// pod (`status.podIP`, by way of an environment variable) to something that reads like an
    /// address to listen on: `--bind=$(POD_IP)`, `$(POD_IP):8080`.
    ///
    /// ## Why it matters
    /// The proxy and the helper of OSM ask 127.0.0.1. An application that listens on the address of
    /// the pod alone answers the kubelet, but not them: the probe fails once the pod is injected.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: bookstore
    ///   labels:
    ///     openservicemesh.io/monitored-by: osm
    ///   annotations:
    ///     openservicemesh.io/sidecar-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: bookstore
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       args: ["--bind=$(POD_IP):8080"]
    ///       env:
    ///         - name: POD_IP
    ///           valueFrom:
    ///             fieldRef:
    ///               fieldPath: status.podIP
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: bookstore
    ///   labels:
    ///     openservicemesh.io/monitored-by: osm
    ///   annotations:
    ///     openservicemesh.io/sidecar-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: bookstore
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       args: ["--bind=0.0.0.0:8080"]
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: what an argument means is for the application to say.
    ///
    /// ## References
    /// - OSM v1.2.4, `pkg/injector/envoy_config_health_probes.go`, `cmd/osm-healthcheck`
    "osm-podip-only-app", Note, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let is_osm = pod.mesh.value == Some(Mesh::Osm);
    if !is_osm || !matches!(handler.verdict.cause, Cause::PassedOn | Cause::Helped) {
        return None;
    }
    let argument = listens_on_pod(&handler.container)?;
    let text = argument.text().unwrap_or_default();
    let message = format!(
        "{} will be made on 127.0.0.1, while the application may listen on the address of the pod \
         alone (`{text}`)",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.outcome = None;
    let said = "this reads like the address to listen on";
    let place = pod.workload.object.label_at(argument.span(), said);
    finding.related.insert(0, place);
    finding.help = Some("let the application listen on 0.0.0.0, or on 127.0.0.1 too".to_owned());
    Some(finding)
}

/// The argument that hands the pod's address to what reads like a listener.
fn listens_on_pod<'t>(container: &Container<'t>) -> Option<NodeRef<'t>> {
    let items = |key: &str| container.node.get(key).into_iter().flat_map(NodeRef::items);
    let variables = items("env").filter_map(|one| {
        let field = one.get("valueFrom")?.get("fieldRef")?.get("fieldPath")?;
        (field.text() == Some("status.podIP")).then(|| one.get("name")?.text())?
    });
    let references: Vec<String> = variables.map(|name| format!("$({name})")).collect();
    let mut arguments = items("command").chain(items("args"));
    arguments.find(|one| {
        let text = one.text().unwrap_or_default();
        let lower = text.to_lowercase();
        let reads = ["listen", "bind", "addr"]
            .iter()
            .any(|word| lower.contains(word));
        references.iter().any(|reference| {
            text.contains(reference.as_str()) && (reads || text.contains(&format!("{reference}:")))
        })
    })
}
