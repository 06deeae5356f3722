//! Rule `probe-port-quoted-number`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::{Applicability, Finding};
use crate::kube::{Action, Port};
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, Value};

declare_rule! {
    /// Finds probe ports that are numbers in quotes.
    ///
    /// ## What it checks
    /// A probe or hook whose `port` is a string of digits.
    ///
    /// ## Why it matters
    /// To Kubernetes a string is the name of a port, and a name needs a letter: the API server
    /// refuses a workload with such a template. A bare Pod gets through where its probes are
    /// rewritten, because the injector changes the port before it is checked. The injector finds no
    /// port of that name and records nothing, so the agent answers 400.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: "8080"
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
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
    /// Removing the quotes is safe: the number is what the kubelet would take the string for. It is
    /// unsafe on a pod that was rewritten ahead, and there is no fix for a number that is no port.
    ///
    /// ## References
    /// - Kubernetes API reference: HTTPGetAction, TCPSocketAction
    /// - Istio documentation: "Health Checking of Istio Services"
    "probe-port-quoted-number", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let action = handler.handler.action.as_ref().ok()?;
    let Some(Port::Name(name)) = action.port() else {
        return None;
    };
    let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || handler.verdict.cause == Cause::Malformed {
        return None;
    }
    let message = format!(
        "{} is refused by the API server: port \"{name}\" is a text, neither a number nor the name \
         of a port",
        handler.title(),
    );
    let span = handler.handler.field_span("port");
    // That it is refused is sure, whatever is known of the mesh.
    let mut finding = scene::about_workload(&RULE, &pod.workload, span, message);
    finding.container = Some(handler.container.name().to_owned());
    let field = handler.handler.within.child(Action::key(action));
    finding.field = Some(field.child("port").to_string());
    finding.help = Some("remove the quotes".to_owned());
    if handler.verdict.cause == Cause::PortQuoted {
        finding.outcome = Some(handler.verdict.outcome.as_str());
        finding.kubelet.clone_from(&handler.verdict.kubelet);
    }
    let number = name.parse::<i64>().ok();
    let Some(number) = number.filter(|number| (1..=65535).contains(number)) else {
        finding.help = Some("write the number of a port, without quotes".to_owned());
        return Some(finding);
    };
    let applicability = if pod.is_rewritten_ahead() {
        Applicability::Unsafe
    } else {
        Applicability::Safe
    };
    let change = Change::Set {
        route: handler
            .handler
            .route
            .child(Action::key(action))
            .child("port"),
        value: Value::Int(number),
    };
    finding.fix = Some(scene::fix(
        &pod.workload.object,
        format!("write the number {number} without quotes"),
        applicability,
        vec![change],
    ));
    Some(finding)
}
