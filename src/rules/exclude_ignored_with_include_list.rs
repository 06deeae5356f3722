//! Rule `exclude-ignored-with-include-list`.

use super::pod_key::{self, Place};
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::{Applicability, Finding};
use crate::mesh::istio::annotations;
use crate::mesh::istio::keys;
use crate::predict::WorkloadPrediction;
use crate::yaml::{Change, Value};

declare_rule! {
    /// Finds ports that are meant to bypass the sidecar, and do not.
    ///
    /// ## What it checks
    /// A pod with a list of ports in `traffic.sidecar.istio.io/includeInboundPorts`, and a port of
    /// that list also in `traffic.sidecar.istio.io/excludeInboundPorts`.
    ///
    /// ## Why it matters
    /// With a list of ports to capture, Istio does not look at the other annotation at all: exactly
    /// the ports in the list are captured.
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
    ///     traffic.sidecar.istio.io/includeInboundPorts: "8080,9090"
    ///     traffic.sidecar.istio.io/excludeInboundPorts: "9090"
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
    /// Taking the port out of the list is unsafe: from then on the sidecar leaves it alone.
    ///
    /// ## References
    /// - Istio reference: "Resource Annotations"
    "exclude-ignored-with-include-list", Warning, fix: Always, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let in_mesh = scene
        .pods()
        .filter(|pod| pod.dataplane.value == Dataplane::Sidecar);
    in_mesh.filter_map(report).collect()
}

fn report(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let workload = &pod.workload;
    let template = &workload.template;
    let include = template.annotation(keys::INCLUDE_INBOUND_PORTS)?;
    let exclude = template.annotation(keys::EXCLUDE_INBOUND_PORTS)?;
    let list = include.value.text()?;
    let included: Vec<i64> = annotations::ports(list).collect();
    let excluded = annotations::ports(exclude.value.text()?);
    let both: Vec<i64> = excluded.filter(|port| included.contains(port)).collect();
    let first = both.first()?;
    let message = format!(
        "port {first} is captured all the same: `excludeInboundPorts` is ignored beside a list in \
         `includeInboundPorts`"
    );
    let mut finding = pod_key::about(&RULE, workload, Place::Annotation, exclude, message);
    let said = "exactly these ports are captured";
    let place = workload.object.label_at(pod_key::value_span(include), said);
    finding.related.push(place);
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    let left = both.iter().fold(list.to_owned(), |left, port| {
        pod_key::without_port(&left, *port)
    });
    let help = format!("take {first} out of `includeInboundPorts`, or out of this annotation");
    finding.help = Some(help);
    let change = Change::Set {
        route: template.annotation_route(keys::INCLUDE_INBOUND_PORTS),
        value: Value::Str(left),
    };
    let title = "take what is to be excluded out of `includeInboundPorts`";
    finding.fix = Some(scene::fix(
        &workload.object,
        title,
        Applicability::Unsafe,
        vec![change],
    ));
    Some(finding)
}
