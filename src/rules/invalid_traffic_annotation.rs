//! Rule `invalid-traffic-annotation`.

use super::pod_key::{self, Place};
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::{Applicability, Finding, Fix};
use crate::kube::{Container, Workload};
use crate::mesh::istio::annotations;
use crate::mesh::istio::keys;
use crate::predict::WorkloadPrediction;
use crate::yaml::{Change, Value};

declare_rule! {
    /// Finds annotations that make Istio refuse the pod.
    ///
    /// ## What it checks
    /// Values of pod annotations that the injector checks: lists of ports (numbers; `*` only to
    /// include), `status.sidecar.istio.io/port`, `sidecar.istio.io/interceptionMode`, ranges of
    /// addresses, the settings of the readiness probe of the sidecar, `prometheus.istio.io/merge-
    /// metrics`, the resources of the sidecar, and whether `proxy.istio.io/config` is YAML with fields of
    /// the right types.
    ///
    /// ## Why it matters
    /// The webhook answers that the pod is not allowed, and the API server obeys: no pod is created.
    /// The Deployment looks fine, only the events of its ReplicaSet tell.
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
    ///     traffic.sidecar.istio.io/excludeInboundPorts: http
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
    /// ## Fix safety
    /// Writing the number of a declared port in place of its name, and an empty `includeInboundPorts`
    /// in place of excluding `*`, is unsafe: the pod then starts, and the ports bypass the sidecar.
    ///
    /// ## References
    /// - Istio reference: "Resource Annotations"
    /// - Istio documentation: "Sidecar Injection Problems"
    "invalid-traffic-annotation", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    // The injector looks at the annotations of those pods only that it injects.
    let asked = scene.pods().filter(|pod| pod.is_asked);
    asked.flat_map(report).collect()
}

fn report(pod: &WorkloadPrediction<'_>) -> Vec<Finding> {
    let workload = &pod.workload;
    let refused = annotations::refused_in(&workload.template);
    let findings = refused.filter_map(|(entry, why)| {
        let (key, value) = (entry.key.text()?, entry.value.as_str()?);
        let message = format!(
            "Istio refuses the pod: `{key}` is invalid ({why}), so {}",
            pod_key::not_created(workload),
        );
        let mut finding = pod_key::about(&RULE, workload, Place::Annotation, entry, message);
        scene::rest_on_fact(&mut finding, &pod.dataplane);
        finding.help = Some(help(key, value));
        finding.fix = fix(workload, key, value);
        Some(finding)
    });
    findings.collect()
}

fn help(key: &str, value: &str) -> String {
    if key == keys::EXCLUDE_INBOUND_PORTS && value.trim() == "*" {
        let include = keys::INCLUDE_INBOUND_PORTS;
        return format!("to capture nothing, write `{include}: \"\"`");
    }
    if key.ends_with("Ports") {
        return "write port numbers, separated by commas".to_owned();
    }
    "write a value that Istio takes, or remove the annotation".to_owned()
}

fn fix(workload: &Workload<'_>, key: &str, value: &str) -> Option<Fix> {
    let template = &workload.template;
    let route = pod_key::route(template, Place::Annotation, key);
    if key == keys::EXCLUDE_INBOUND_PORTS && value.trim() == "*" {
        let include = keys::INCLUDE_INBOUND_PORTS;
        if template.annotation(include).is_some() {
            return None;
        }
        let change = Change::Replace {
            route,
            key: include.to_owned(),
            value: Value::from(""),
        };
        let title = format!("write `{include}: \"\"`, which captures nothing");
        return Some(scene::fix(
            &workload.object,
            title,
            Applicability::Unsafe,
            vec![change],
        ));
    }
    let numbers = by_number(workload, value).filter(|_| key.ends_with("Ports"))?;
    let title = format!("write the port by its number: \"{numbers}\"");
    let value = Value::Str(numbers);
    let change = Change::Set { route, value };
    Some(scene::fix(
        &workload.object,
        title,
        Applicability::Unsafe,
        vec![change],
    ))
}

/// The list with the numbers of declared ports in place of their names.
fn by_number(workload: &Workload<'_>, list: &str) -> Option<String> {
    let containers = workload.template.containers();
    let number = |entry: &str| {
        let name = entry.trim();
        if name.parse::<u16>().is_ok() {
            return Some(name.to_owned());
        }
        let mut ports = containers.iter().flat_map(Container::ports);
        let port = ports.find(|port| port.name == Some(name))?;
        Some(port.number?.to_string())
    };
    let entries: Option<Vec<String>> = list.split(',').map(number).collect();
    Some(entries?.join(","))
}
