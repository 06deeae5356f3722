//! Rule `yaml11-header-value`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::{Applicability, Finding};
use crate::kube::{Handler, Object, Unreadable};
use crate::predict::{HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, NodeRef, Route, Scalar, Step, Value};

declare_rule! {
    /// Finds header values of probes that YAML turns into something else than a string.
    ///
    /// ## What it checks
    /// The value of a header in `httpHeaders`, of a probe or hook, that is written without quotes
    /// and is a boolean or a number to the tools of Kubernetes: `y`, `on`, `no`, `1`, `0x1F`,
    /// `1_000`. Probes of virtual machines have `vm-field-type`.
    ///
    /// ## Why it matters
    /// These tools keep the rules of YAML 1.1. The API server refuses the object (`cannot unmarshal
    /// bool into Go struct field of type string`).
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
    ///       readinessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    ///           httpHeaders:
    ///             - name: X-Deep
    ///               value: y
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
    ///       readinessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    ///           httpHeaders:
    ///             - name: X-Deep
    ///               value: "y"
    /// ```
    ///
    /// ## Fix safety
    /// Safe for `true`, `false` and decimal numbers. Unsafe for other spellings: what stands there
    /// is put in quotes, and that may not be what was meant.
    ///
    /// ## References
    /// - Kubernetes documentation: "Configure Liveness, Readiness and Startup Probes"
    "yaml11-header-value", Error, fix: Always, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let handlers = scene.handlers();
    handlers
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

/// Returns the header value that keeps a handler from being read.
pub(super) fn culprit<'t>(handler: &Handler<'t>) -> Option<(NodeRef<'t>, Route)> {
    let Err(Unreadable::Malformed(error)) = &handler.action else {
        return None;
    };
    let is_value = matches!(
        error.route.steps(),
        [_, Step::Key(list), Step::Index(_), Step::Key(key)] if list == "httpHeaders" && key == "value"
    );
    let node = handler.node.at(&error.route).filter(|_| is_value)?;
    let scalar = node.scalar()?;
    (!matches!(scalar, Scalar::Str(_))).then(|| (node, error.route.clone()))
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let (node, route) = culprit(&handler.handler)?;
    let (text, scalar) = (node.text()?, node.scalar()?);
    let message = format!(
        "{} is refused by the API server: a header has the value {text}, which is {} and no string",
        handler.title(),
        scalar.type_name(),
    );
    let mut finding = scene::about_handler(&RULE, pod, handler, node.span(), message);
    finding.field = Some(handler.handler.within.join(&route).to_string());
    let route = handler.handler.route.join(&route);
    quote(&mut finding, &pod.workload.object, route, node);
    Some(finding)
}

/// Gives a finding the fix that puts a value in quotes.
pub(super) fn quote(finding: &mut Finding, object: &Object<'_>, route: Route, node: NodeRef<'_>) {
    let text = node.text().unwrap_or_default();
    let is_plain = match node.scalar() {
        Some(Scalar::Bool(value)) => value.to_string() == text,
        Some(Scalar::Int(value)) => value.to_string() == text,
        _ => false,
    };
    let degree = if is_plain {
        Applicability::Safe
    } else {
        Applicability::Unsafe
    };
    let value = Value::from(text);
    let changes = vec![Change::Set { route, value }];
    finding.help = Some(format!("write it in quotes: \"{text}\""));
    finding.fix = Some(scene::fix(object, "put it in quotes", degree, changes));
}
