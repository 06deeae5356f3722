//! Rule `status-port-in-include-list`.

use super::rule::declare_rule;
use super::{Scene, pod_key, scene};
use crate::finding::{Applicability, Finding, Fix, Severity};
use crate::mesh::istio::annotations;
use crate::mesh::istio::keys;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, Value};

declare_rule! {
    /// Finds pods that hand the agent's port to the sidecar.
    ///
    /// ## What it checks
    /// A pod whose probes go to the agent, with the agent's port in
    /// `traffic.sidecar.istio.io/includeInboundPorts` or in `includeInboundPorts` of the
    /// installation. It is an error where STRICT mutual TLS holds on that port, and a note where
    /// plain text is still let in.
    ///
    /// ## Why it matters
    /// With such a list the sidecar takes exactly the ports in it. The kubelet asks the agent in
    /// plain text, and under STRICT the sidecar resets every such connection.
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
    ///     traffic.sidecar.istio.io/includeInboundPorts: "8080,15020"
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
    ///     traffic.sidecar.istio.io/includeInboundPorts: "8080"
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
    /// Taking the port out of the list of the pod is safe: until then every rewritten probe fails. It
    /// is unsafe where plain text is let in, on a pod that was rewritten ahead, and where the list
    /// becomes empty: then nothing is captured any more.
    /// There is no fix where the whole mesh has the list.
    ///
    /// ## References
    /// - Istio reference: "Resource Annotations"
    "status-port-in-include-list", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene.pods().flat_map(|pod| report(scene, pod)).collect()
}

/// The handlers that fail since the sidecar takes the port where they ask the agent, each with
/// that port.
pub(super) fn captured<'p, 't>(
    pod: &'p WorkloadPrediction<'t>,
) -> impl Iterator<Item = (&'p HandlerPrediction<'t>, i64)> {
    let handlers = pod.handlers.iter();
    let failing = handlers.filter(|handler| handler.verdict.cause == Cause::StatusPortCaptured);
    failing.filter_map(|handler| {
        let rewritten = handler.becomes.as_ref().map(|becomes| becomes.port);
        Some((handler, rewritten.or(handler.port)?))
    })
}

/// A handler that would fail, were mutual TLS STRICT.
pub(super) fn in_danger<'p, 't>(
    pod: &'p WorkloadPrediction<'t>,
) -> Option<&'p HandlerPrediction<'t>> {
    let taken = pod.status_port_captured.as_ref().is_some_and(|it| it.value);
    let mut fine = pod.handlers.iter().filter(|handler| {
        handler.verdict.cause == Cause::Rewritten
            && handler
                .becomes
                .as_ref()
                .is_some_and(|it| it.port == pod.status_port.value)
    });
    fine.next().filter(|_| taken)
}

/// Tells whether the redirect is told by name to take a port.
pub(super) fn is_listed<'t>(
    scene: &Scene<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    port: i64,
) -> bool {
    let list = scene.context.included_ports(&pod.workload);
    list.is_some_and(|list| annotations::ports(&list.value).any(|listed| listed == port))
}

fn report<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>) -> Vec<Finding> {
    let listed = captured(pod).filter(|(_, port)| is_listed(scene, pod, *port));
    let failing = listed.map(|(handler, port)| {
        let message = format!(
            "{} will fail: `includeInboundPorts` hands the agent's port {port} to the sidecar, where \
             STRICT refuses plain text",
            handler.title(),
        );
        let span = handler.handler.key.span();
        let finding = scene::about_handler(&RULE, pod, handler, span, message);
        with_help(finding, pod, port, true)
    });
    let mut findings: Vec<Finding> = failing.collect();
    if findings.is_empty() {
        findings.extend(danger(scene, pod));
    }
    findings
}

fn danger<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let port = pod.status_port.value;
    let handler = in_danger(pod).filter(|_| is_listed(scene, pod, port))?;
    let message = format!(
        "`includeInboundPorts` hands the agent's port {port} to the sidecar: all rewritten probes \
         of the pod fail as soon as mutual TLS is STRICT"
    );
    let span = handler.handler.key.span();
    let mut finding = scene::about_workload(&RULE, &pod.workload, span, message);
    finding.severity = Severity::Note;
    if let Some(list) = &pod.status_port_captured {
        scene::rest_on_fact(&mut finding, list);
    }
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    Some(with_help(finding, pod, port, false))
}

fn with_help(
    mut finding: Finding,
    pod: &WorkloadPrediction<'_>,
    port: i64,
    fails: bool,
) -> Finding {
    finding.help = Some(format!(
        "take {port} out of the list: the agent needs no sidecar"
    ));
    finding.fix = fix(pod, port, fails);
    finding
}

fn fix(pod: &WorkloadPrediction<'_>, port: i64, fails: bool) -> Option<Fix> {
    let template = &pod.workload.template;
    let entry = template.annotation(keys::INCLUDE_INBOUND_PORTS)?;
    let left = pod_key::without_port(entry.value.text()?, port);
    let wanted = if fails && !left.is_empty() {
        Applicability::Safe
    } else {
        Applicability::Unsafe
    };
    let change = Change::Set {
        route: template.annotation_route(keys::INCLUDE_INBOUND_PORTS),
        value: Value::Str(left),
    };
    let title = format!("take {port} out of the list");
    let degree = pod_key::degree(pod, &[], wanted);
    Some(scene::fix(
        &pod.workload.object,
        title,
        degree,
        vec![change],
    ))
}
