//! Rule `consul-expose-overwritten`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::Mesh;
use crate::mesh::consul::{OVERWRITE, SERVICE};
use crate::predict::WorkloadPrediction;
use crate::yaml::NodeRef;

declare_rule! {
    /// Finds paths that Consul is to expose and does not, for want of room beside those of probes.
    ///
    /// ## What it checks
    /// A `ServiceDefaults` with `expose.paths` for the service of a pod, and an `httpGet` probe of that
    /// pod which Consul rewrites. The service is the one of the annotation
    /// `consul.hashicorp.com/connect-service`, else a Service that selects the pod.
    ///
    /// ## Why it matters
    /// Consul exposes a rewritten probe by registering a path for it. The paths that it registers take
    /// the place of those of the `ServiceDefaults`: their listeners vanish, and whoever asks them, such
    /// as Prometheus, finds a closed port.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: consul.hashicorp.com/v1alpha1
    /// kind: ServiceDefaults
    /// metadata:
    ///   name: web
    ///   namespace: demo
    /// spec:
    ///   protocol: http
    ///   expose:
    ///     paths:
    ///       - path: /metrics
    ///         localPathPort: 9102
    ///         listenerPort: 21500
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
    ///   annotations:
    ///     consul.hashicorp.com/connect-inject: "true"
    ///     consul.hashicorp.com/connect-service: web
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
    /// ## Use instead
    /// ```yaml
    /// apiVersion: consul.hashicorp.com/v1alpha1
    /// kind: ServiceDefaults
    /// metadata:
    ///   name: web
    ///   namespace: demo
    /// spec:
    ///   protocol: http
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
    ///   annotations:
    ///     consul.hashicorp.com/connect-inject: "true"
    ///     consul.hashicorp.com/connect-service: web
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
    /// There is no fix by machine: who asks these paths is not in the manifests.
    ///
    /// ## References
    /// - Issue #756 of hashicorp/consul-k8s
    "consul-expose-overwritten", Warning, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let pods = scene.predictions.iter();
    for pod in pods.filter(|pod| pod.mesh.value == Some(Mesh::Consul)) {
        let objects = scene.context.objects_of_mesh(&pod.workload, Mesh::Consul);
        let defaults = objects.into_iter().filter(|object| {
            object.kind == "ServiceDefaults"
                && scene.is_target(object)
                && is_for(scene, object, pod)
        });
        let reports = defaults.filter_map(|object| report(pod, object));
        found.extend(reports);
    }
    // Several pods of one service lose the same paths.
    let mut seen = Vec::new();
    found.retain(|finding| {
        let place = (finding.primary.path.clone(), finding.primary.span);
        let is_new = !seen.contains(&place);
        seen.push(place);
        is_new
    });
    found
}

/// The object is named like a service of the pod.
fn is_for(scene: &Scene<'_, '_>, object: &Object<'_>, pod: &WorkloadPrediction<'_>) -> bool {
    let name = object.name();
    if let Some(entry) = pod.workload.template.annotation(SERVICE) {
        let text = entry.value.text().unwrap_or_default();
        return text.split(',').any(|one| one.trim() == name);
    }
    let services = scene.context.service_ports(&pod.workload);
    services.iter().any(|(service, ..)| service.name() == name)
}

fn report(pod: &WorkloadPrediction<'_>, object: &Object<'_>) -> Option<Finding> {
    let probe = pod.handlers.iter().find(|one| one.becomes.is_some())?;
    let expose = object.node.get("spec")?.get("expose")?;
    let paths = expose.entry("paths")?;
    NodeRef::items(paths.value).next()?;
    let message = format!(
        "Consul does not expose these paths of `{}`: those of the probes take their place",
        object.name()
    );
    let mut finding = scene::about_object(&RULE, object, paths.key.span(), message);
    let title = probe.title();
    let key = probe.handler.key.span();
    let place = pod
        .workload
        .object
        .label_at(key, format!("{title} is rewritten"));
    finding.related.push(place);
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    finding.help = Some(format!(
        "keep Consul from rewriting (`{OVERWRITE}: \"false\"`) and expose the paths of the probes \
         here, too; or exclude the ports of these paths from the redirect"
    ));
    Some(finding)
}
