//! Rule `status-port-zero`.

use super::pod_key::{self, Place};
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::{Applicability, Finding, Fix};
use crate::mesh::istio::annotations;
use crate::mesh::istio::keys;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, Value};

declare_rule! {
    /// Finds pods that are refused because the port of the agent is 0.
    ///
    /// ## What it checks
    /// A rewritten probe whose new port would be 0: the pod annotation `status.sidecar.istio.io/port`
    /// is "0", or a port with blanks around it, which the validator of Istio takes and the rewrite
    /// reads as 0; or the mesh says `statusPort: 0`.
    ///
    /// ## Why it matters
    /// The API server refuses port 0 in a probe ("Invalid value: 0: must be between 1 and 65535,
    /// inclusive"). No pod is created, and only the events of the ReplicaSet say why.
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
    ///     status.sidecar.istio.io/port: "0"
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
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     status.sidecar.istio.io/port: "15022"
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
    /// Writing the port without blanks, or removing the annotation, is unsafe: pods that were refused
    /// until now start. There is no fix where the whole mesh has such a port.
    ///
    /// ## References
    /// - Istio reference: "Resource Annotations"
    /// - Istio documentation: "Health Checking of Istio Services"
    "status-port-zero", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene
        .handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::StatusPortZero);
    // What Istio's own validator refuses is another fault.
    let struck = struck.filter(|(pod, _)| {
        let annotation = pod.workload.template.annotation(keys::STATUS_PORT);
        let text = annotation.and_then(|entry| entry.value.text());
        text.is_none_or(|text| annotations::refused(keys::STATUS_PORT, text).is_none())
    });
    struck.map(|(pod, handler)| report(pod, handler)).collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let message = format!(
        "{} makes the API server refuse the pod: the agent's port is read as {}, and the injector \
         points the probe there",
        handler.title(),
        pod.status_port.value,
    );
    let span = handler.handler.key.span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    let help = "write a port from 1 to 65535, without blanks, or none at all";
    finding.help = Some(help.to_owned());
    finding.fix = fix(pod);
    finding
}

fn fix(pod: &WorkloadPrediction<'_>) -> Option<Fix> {
    let template = &pod.workload.template;
    let entry = template.annotation(keys::STATUS_PORT)?;
    let port = entry.value.text()?.trim();
    let object = &pod.workload.object;
    if port.parse::<u16>().is_ok_and(|port| port > 0) {
        let change = Change::Set {
            route: template.annotation_route(keys::STATUS_PORT),
            value: Value::from(port),
        };
        let title = format!("write \"{port}\", without blanks");
        return Some(scene::fix(
            object,
            title,
            Applicability::Unsafe,
            vec![change],
        ));
    }
    let degree = pod_key::degree(pod, &[entry], Applicability::Unsafe);
    let changes = pod_key::removal(template, Place::Annotation, &[keys::STATUS_PORT]);
    let title = format!(
        "remove `{}`: the port of the mesh then holds",
        keys::STATUS_PORT
    );
    Some(scene::fix(object, title, degree, changes))
}
