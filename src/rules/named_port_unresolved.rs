//! Rule `named-port-unresolved`.

use super::rule::declare_rule;
use super::suggest::is_close;
use super::{Scene, scene};
use crate::finding::{Applicability, Finding};
use crate::kube::Action;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, Value};

declare_rule! {
    /// Finds handlers whose port name is declared nowhere in the pod.
    ///
    /// ## What it checks
    /// A probe or hook whose `port` is a name that no `ports[].name` of the pod carries. Names are
    /// compared to the letter; a number in quotes and a name of another container are other faults.
    ///
    /// ## Why it matters
    /// The kubelet looks the name up in the container's own ports and gives up. Behind Istio the fault
    /// changes its face: the injector points the probe at the agent all the same but records nothing
    /// for it, so the agent answers 400 for ever.
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
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       ports:
    ///         - name: http
    ///           containerPort: 8080
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: htpp
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
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       ports:
    ///         - name: http
    ///           containerPort: 8080
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: http
    /// ```
    ///
    /// ## Fix safety
    /// Replacing the name by the closest declared one is unsafe: it may be another port.
    ///
    /// ## References
    /// - Kubernetes documentation: "Configure Liveness, Readiness and Startup Probes"
    /// - Istio documentation: "Health Checking of Istio Services"
    "named-port-unresolved", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene
        .handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::PortUnresolved);
    struck.map(|(pod, handler)| report(pod, handler)).collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let action = handler.handler.action.as_ref().ok();
    let name = action
        .and_then(Action::port)
        .map(|port| port.to_string())
        .unwrap_or_default();
    let declared: Vec<&str> = handler
        .container
        .ports()
        .filter_map(|port| port.name)
        .collect();
    let message = format!(
        "{} uses port name `{name}`, which the container does not declare",
        handler.title()
    );
    let span = handler.handler.field_span("port");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    let closest = declared.iter().find(|other| is_close(&name, other));
    finding.help = Some(match (closest, declared.as_slice()) {
        (Some(closest), _) => format!("did you mean `{closest}`?"),
        (None, []) => format!("declare the port in the container: `name: {name}` under `ports`"),
        (None, names) => format!("declare the port, or use one of: {}", names.join(", ")),
    });
    let kind = action.map_or("", Action::key);
    let object = &pod.workload.object;
    finding.fix = closest.map(|closest| {
        scene::fix(
            object,
            format!("use the declared port name `{closest}`"),
            Applicability::Unsafe,
            vec![Change::Set {
                route: handler.handler.route.child(kind.to_owned()).child("port"),
                value: Value::from(*closest),
            }],
        )
    });
    finding
}
