//! Rule `inbound-capture-off`.

use super::pod_key::{self, Place};
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::{Applicability, Finding};
use crate::mesh::istio::keys;
use crate::mesh::istio::mtls::MtlsMode;
use crate::predict::WorkloadPrediction;

/// No policy has an exception for it: it shows what holds for the pod in general.
const ANY_PORT: i64 = 0;

declare_rule! {
    /// Finds pods whose mutual TLS is void because nothing inbound reaches the sidecar.
    ///
    /// ## What it checks
    /// A pod with a sidecar, STRICT mutual TLS, and an empty `includeInboundPorts` (annotation or
    /// installation).
    ///
    /// ## Why it matters
    /// An empty value is a value: no inbound port is captured. Probes work, but so does every plain-
    /// text client; STRICT and all AuthorizationPolicies are silently void.
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
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: STRICT
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     traffic.sidecar.istio.io/includeInboundPorts: ""
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
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: STRICT
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     traffic.sidecar.istio.io/includeInboundPorts: "*"
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
    /// Removing the annotation is unsafe: from then on clients that speak plain text are refused.
    /// There is no fix where the whole mesh is told so.
    ///
    /// ## References
    /// - Istio reference: "Resource Annotations"
    "inbound-capture-off", Warning, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let in_mesh = scene
        .pods()
        .filter(|pod| pod.dataplane.value == Dataplane::Sidecar);
    in_mesh.filter_map(|pod| report(scene, pod)).collect()
}

fn report<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let workload = &pod.workload;
    let list = scene.context.included_ports(workload)?;
    let mtls = scene.context.mtls(workload, ANY_PORT);
    let off = list.value.trim().is_empty() && mtls.value == MtlsMode::Strict;
    let mode = scene.context.interception_mode(workload);
    if !off || mode.is_some_and(|mode| mode.value == "NONE") {
        return None;
    }
    let message = "`includeInboundPorts` is empty: no inbound traffic reaches the sidecar, so STRICT \
                   mutual TLS is void and plain text gets through";
    let own = workload.template.annotation(keys::INCLUDE_INBOUND_PORTS);
    let mut finding = match own {
        Some(entry) => pod_key::about(
            &RULE,
            workload,
            Place::Annotation,
            entry,
            message.to_owned(),
        ),
        None => {
            let span = workload.object.name_span();
            let mut finding = scene::about_workload(&RULE, workload, span, message.to_owned());
            scene::rest_on_fact(&mut finding, &list);
            finding
        }
    };
    scene::rest_on_fact(&mut finding, &mtls);
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    finding.help = Some("write `*` to capture all ports, or list those to capture".to_owned());
    finding.fix = own.map(|entry| {
        let degree = pod_key::degree(pod, &[entry], Applicability::Unsafe);
        let keys = [keys::INCLUDE_INBOUND_PORTS];
        let changes = pod_key::removal(&workload.template, Place::Annotation, &keys);
        let title = "remove the annotation: all ports are then captured";
        scene::fix(&workload.object, title, degree, changes)
    });
    Some(finding)
}
