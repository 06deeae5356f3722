//! Rule `consul-multiport-tproxy`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::mesh::consul::{TRANSPARENT, several_services};
use crate::predict::WorkloadPrediction;

declare_rule! {
    /// Finds pods with several services behind Consul's transparent proxy.
    ///
    /// ## What it checks
    /// A pod that asks Consul for injection with several names in `consul.hashicorp.com/connect-
    /// service`, one for each of its ports, while the transparent proxy is on. It is on unless an
    /// annotation of the pod, a label of its Namespace, or the chart says otherwise.
    ///
    /// ## Why it matters
    /// The webhook refuses such pods: several services do not go with the transparent proxy. A
    /// Deployment stays where it is, with an event of its ReplicaSet as the only sign.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
    ///   annotations:
    ///     consul.hashicorp.com/connect-inject: "true"
    ///     consul.hashicorp.com/connect-service: web,admin
    ///     consul.hashicorp.com/connect-service-port: 8080,9090
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
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
    ///   annotations:
    ///     consul.hashicorp.com/connect-inject: "true"
    ///     consul.hashicorp.com/connect-service: web,admin
    ///     consul.hashicorp.com/connect-service-port: 8080,9090
    ///     consul.hashicorp.com/transparent-proxy: "false"
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
    /// There is no fix by machine: without the transparent proxy the pod reaches other services in
    /// another way.
    ///
    /// ## References
    /// - consul-k8s, `control-plane/connect-inject/webhook/mesh_webhook.go`
    "consul-multiport-tproxy", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let refused = scene
        .pods()
        .filter(|pod| pod.mesh.value == Some(Mesh::Consul));
    let refused = refused.filter(|pod| scene.context.is_refused(&pod.workload));
    refused.filter_map(report).collect()
}

fn report(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let span = several_services(&pod.workload)?.value.span();
    let mut places = pod.dataplane.because.iter();
    let decides = places.find_map(|reason| reason.place.as_ref())?;
    let written = pod.workload.object.label_at(span, "");
    if !decides.is_at(&written) {
        return None;
    }
    let message = format!(
        "{} never starts, the webhook refuses the pod: it has several services, and the transparent \
         proxy is on",
        pod.workload.title()
    );
    let mut finding = scene::about_workload(&RULE, &pod.workload, span, message);
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    finding.related.retain(|label| !label.is_at(&written));
    finding.help = Some(format!(
        "give the pod one service, or switch the transparent proxy off: `{TRANSPARENT}: \"false\"`"
    ));
    Some(finding)
}
