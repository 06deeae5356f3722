//! Rule `consul-port-name-shared`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::kube::{Action, ContainerList};
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds probes whose port name Consul takes for that of another container.
    ///
    /// ## What it checks
    /// An `httpGet` probe of a pod whose probes Consul rewrites, with a port name that an earlier
    /// container of the pod declares for another port.
    ///
    /// ## Why it matters
    /// The kubelet looks a port name up in the container of the probe. Consul looks it up in the whole
    /// pod when it registers what its proxy exposes, and takes the first one: the probe tests another
    /// container.
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
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       ports:
    ///         - name: http
    ///           containerPort: 8080
    ///     - name: admin
    ///       image: registry.example/admin:1
    ///       ports:
    ///         - name: http
    ///           containerPort: 9090
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: http
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
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       ports:
    ///         - name: http
    ///           containerPort: 8080
    ///     - name: admin
    ///       image: registry.example/admin:1
    ///       ports:
    ///         - name: admin
    ///           containerPort: 9090
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: admin
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: Services may use the name of the port.
    ///
    /// ## References
    /// - consul-k8s, `control-plane/connect-inject/common/common.go` (`PortValue`)
    "consul-port-name-shared", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if handler.verdict.cause != Cause::Other(Trouble::NameOfOther) {
        return None;
    }
    let name = handler.handler.action.as_ref().ok().and_then(Action::port);
    let name = name.map(|name| name.to_string()).unwrap_or_default();
    let containers = pod.workload.template.containers_in(ContainerList::Main);
    let other = containers.iter().find_map(|container| {
        let mut ports = container.ports();
        ports.find(|port| port.name == Some(name.as_str()))
    });
    let message = format!(
        "{} tests port {} of another container: Consul takes the first port `{name}` of the pod",
        handler.title(),
        handler.port.unwrap_or_default()
    );
    let span = handler.handler.field_span("port");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    if let Some(entry) = other.and_then(|port| port.node.entry("name")) {
        let object = &pod.workload.object;
        let place = object.label_at(entry.value.span(), "the first port of this name");
        finding.related.insert(0, place);
    }
    finding.help =
        Some("give each port of the pod a name of its own, or write the number".to_owned());
    Some(finding)
}
