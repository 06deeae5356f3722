//! Rule `probe-on-reserved-port`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::kube::Action;
use crate::predict::{Cause, HandlerPrediction, Outcome, WorkloadPrediction, port_owner};

declare_rule! {
    /// Finds probes of ports that belong to the sidecar.
    ///
    /// ## What it checks
    /// A probe or hook of a pod with a sidecar on port 15000, 15001, 15004, 15006, 15008, 15021,
    /// 15053 or 15090, by number or by name, or on the port of the agent where the rewrite is off.
    /// A probe that fails or can never fail for another reason is reported by the rule of that
    /// reason.
    ///
    /// ## Why it matters
    /// The sidecar answers there, not the application: the probe follows the health of the sidecar,
    /// which has its own probe already. The application may be dead for as long as it likes.
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
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz/ready
    ///           port: 15021
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
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the port of the application is not known.
    ///
    /// ## References
    /// - Istio documentation: "Application Requirements", "Ports used by Istio"
    "probe-on-reserved-port", Warning, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let action = handler.handler.action.as_ref().ok()?;
    let elsewhere = action.host().is_some() || handler.agent_path().is_some();
    // A probe that the mesh has pointed there is answered for the application.
    let is_passed_on = matches!(handler.verdict.cause, Cause::PassedOn | Cause::Helped);
    if elsewhere || is_passed_on || handler.verdict.outcome != Outcome::Ok {
        return None;
    }
    let port = handler.port?;
    let owner = port_owner(pod, port)?;
    let message = format!(
        "{} asks port {port} of the sidecar ({owner}): it says nothing about the application",
        handler.title(),
    );
    let span = handler.handler.field_span("port");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.outcome = None;
    let kind = Action::key(action);
    finding.help = Some(format!(
        "give `{kind}` the port of the application; the sidecar has a probe of its own"
    ));
    Some(finding)
}
