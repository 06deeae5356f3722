//! Rule `container-name-invalid`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::kube::{Container, Objection};
use crate::predict::WorkloadPrediction;
use crate::yaml::{NodeRef, Span};

declare_rule! {
    /// Finds containers with probes whose name is no DNS label.
    ///
    /// ## What it checks
    /// A container with a probe or hook whose `name` is missing, longer than 63 characters, or
    /// holds anything but lower-case letters, digits and `-` between letters or digits.
    ///
    /// ## Why it matters
    /// The API server refuses the whole object. The name also becomes part of the path under which
    /// the agent answers for the probe: rewritten ahead, a name with a slash or none at all keeps
    /// the sidecar from starting.
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
    ///     - name: shop/web
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
    /// There is no fix by machine: others may refer to the name.
    ///
    /// ## References
    /// - Kubernetes documentation: "Object Names and IDs"
    "container-name-invalid", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene.pods().flat_map(of_pod).collect()
}

/// One finding for each container.
fn of_pod(pod: &WorkloadPrediction<'_>) -> Vec<Finding> {
    let mut seen = Vec::new();
    let mut found = Vec::new();
    for handler in &pod.handlers {
        let is_struck = handler
            .refused_by_api()
            .is_some_and(|refusal| refusal.objection == Objection::ContainerName);
        if is_struck && !seen.contains(&&handler.container.route) {
            seen.push(&handler.container.route);
            found.push(report(pod, &handler.container, handler.handler.key.span()));
        }
    }
    found
}

fn report(pod: &WorkloadPrediction<'_>, container: &Container<'_>, handler: Span) -> Finding {
    let name = container.name();
    let message = if name.is_empty() {
        "a container without a name is refused by the API server, and no agent could answer for \
         its probes"
            .to_owned()
    } else {
        format!(
            "container name `{name}` is refused by the API server, and no agent could answer for \
             its probes"
        )
    };
    let span = container.node.get("name").map_or(handler, NodeRef::span);
    let mut finding = scene::about_workload(&RULE, &pod.workload, span, message);
    finding.container = Some(name.to_owned());
    finding.field = Some(container.field("name").to_string());
    finding.help =
        Some("use lower-case letters, digits and `-` only, 63 characters at most".to_owned());
    finding
}
