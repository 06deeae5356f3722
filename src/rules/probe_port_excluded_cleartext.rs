//! Rule `probe-port-excluded-cleartext`.

use super::pod_key::{self, Place};
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::{Applicability, Finding, Fix};
use crate::mesh::istio::annotations;
use crate::mesh::istio::keys;
use crate::mesh::istio::mtls::MtlsMode;
use crate::predict::{HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, Entry, Value};

declare_rule! {
    /// Finds ports that bypass the sidecar for a probe, and so for every client.
    ///
    /// ## What it checks
    /// A port in `traffic.sidecar.istio.io/excludeInboundPorts` that a probe uses, that a Service
    /// leads to, and for which a PeerAuthentication demands STRICT mutual TLS.
    ///
    /// ## Why it matters
    /// This is a cure from before the probe rewrite. The probe works, but STRICT and all
    /// AuthorizationPolicies are silently void on the port for everyone, and clients that use mutual
    /// TLS there can fail.
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
    /// kind: Service
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   selector:
    ///     app: web
    ///   ports:
    ///     - port: 80
    ///       targetPort: 8080
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     app: web
    ///   annotations:
    ///     traffic.sidecar.istio.io/excludeInboundPorts: "8080"
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
    /// kind: Service
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   selector:
    ///     app: web
    ///   ports:
    ///     - port: 80
    ///       targetPort: 8080
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     app: web
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
    /// Taking the port out is unsafe: clients that speak plain text are refused from then on.
    /// There is no fix while a probe of the port is not rewritten.
    ///
    /// ## References
    /// - Istio reference: "Resource Annotations"
    /// - Istio documentation: "Health Checking of Istio Services"
    "probe-port-excluded-cleartext", Warning, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let in_mesh = scene
        .pods()
        .filter(|pod| pod.dataplane.value == Dataplane::Sidecar);
    in_mesh.flat_map(|pod| report(scene, pod)).collect()
}

fn report<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>) -> Vec<Finding> {
    let workload = &pod.workload;
    let Some(entry) = workload.template.annotation(keys::EXCLUDE_INBOUND_PORTS) else {
        return Vec::new();
    };
    let list = entry.value.text().unwrap_or_default();
    let findings = annotations::ports(list).filter_map(|port| {
        let probed = |handler: &&HandlerPrediction<'_>| {
            handler.port == Some(port) && !handler.handler.slot.is_lifecycle()
        };
        let handler = pod.handlers.iter().find(probed)?;
        let service = scene.context.exposed_by(workload, port)?;
        let mtls = scene.context.mtls(workload, port);
        let open = !scene.context.capture(workload, port).value;
        if !open || mtls.value != MtlsMode::Strict {
            return None;
        }
        let message = format!(
            "port {port} bypasses the sidecar, as it seems for the {}: STRICT and \
             AuthorizationPolicies are void there for the clients of the Service too",
            handler.title(),
        );
        let mut finding = pod_key::about(&RULE, workload, Place::Annotation, entry, message);
        finding.related.push(service);
        scene::rest_on_fact(&mut finding, &mtls);
        scene::rest_on_fact(&mut finding, &pod.dataplane);
        let users: Vec<_> = pod.handlers.iter().filter(probed).collect();
        let rewritten = users.iter().all(|handler| handler.rewritten);
        finding.help = Some(if rewritten {
            format!(
                "take {port} out: the agent makes the check, so that the probe needs no exception"
            )
        } else {
            format!("switch the probe rewrite on for the pod, then take {port} out")
        });
        finding.fix = rewritten.then(|| fix(pod, entry, port)).flatten();
        Some(finding)
    });
    findings.collect()
}

fn fix(pod: &WorkloadPrediction<'_>, entry: Entry<'_>, port: i64) -> Option<Fix> {
    let template = &pod.workload.template;
    let left = pod_key::without_port(entry.value.text()?, port);
    let (changes, degree) = if left.is_empty() {
        (
            pod_key::removal(template, Place::Annotation, &[keys::EXCLUDE_INBOUND_PORTS]),
            pod_key::degree(pod, &[entry], Applicability::Unsafe),
        )
    } else {
        let route = template.annotation_route(keys::EXCLUDE_INBOUND_PORTS);
        let value = Value::Str(left);
        (vec![Change::Set { route, value }], Applicability::Unsafe)
    };
    let title = format!("have the sidecar capture port {port} again");
    Some(scene::fix(&pod.workload.object, title, degree, changes))
}
