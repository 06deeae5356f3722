//! Rule `peerauth-portlevel-service-port`.

use super::pod_key::has_comment;
use super::port_exception::{self, Exception};
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::{Applicability, Finding, Fix};
use crate::yaml::{Change, Route, Value};

declare_rule! {
    /// Finds exceptions for the port of a Service in place of the port of the pod.
    ///
    /// ## What it checks
    /// A key of `portLevelMtls` that no selected pod listens on as far as the tree shows
    /// (`containerPort`, probes, target ports), and that is the `port` of a Service which leads to
    /// another port of these pods.
    ///
    /// ## Why it matters
    /// `portLevelMtls` counts ports of the pod. The exception is accepted and has no effect: the
    /// port that was meant keeps the mode of the policy, and under STRICT a plain probe of it goes
    /// on failing.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Service
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   selector:
    ///     app: web
    ///   ports:
    ///     - port: 80
    ///       targetPort: 8080
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   selector:
    ///     matchLabels:
    ///       app: web
    ///   mtls:
    ///     mode: STRICT
    ///   portLevelMtls:
    ///     80:
    ///       mode: PERMISSIVE
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     app: web
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Service
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   selector:
    ///     app: web
    ///   ports:
    ///     - port: 80
    ///       targetPort: 8080
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   selector:
    ///     matchLabels:
    ///       app: web
    ///   mtls:
    ///     mode: STRICT
    ///   portLevelMtls:
    ///     8080:
    ///       mode: PERMISSIVE
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     app: web
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    /// ```
    ///
    /// ## Fix safety
    /// Writing the target port is unsafe: the exception then takes effect and changes who may
    /// connect. It is offered where all selected pods agree on the port.
    ///
    /// ## References
    /// - Istio reference: "PeerAuthentication"
    "peerauth-portlevel-service-port", Error, fix: Sometimes, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let exceptions = port_exception::unmet(scene);
    exceptions
        .iter()
        .filter_map(|exception| report(scene, exception))
        .collect()
}

fn report<'t>(scene: &Scene<'_, 't>, exception: &Exception<'_, 't>) -> Option<Finding> {
    let (service, line, target) = exception.service_ports.first()?;
    let (policy, port) = (exception.policy, exception.port);
    let message = format!(
        "the exception for port {port} has no effect: `portLevelMtls` counts ports of the pod, and \
         {port} is the port of Service `{}`, which leads to {target}",
        service.name(),
    );
    let span = exception.entry.key.span();
    let mut finding = scene::about_object(&RULE, policy, span, message);
    finding.field = Some(format!("spec.portLevelMtls.{port}"));
    let said = format!("port {port} of the Service leads to {target} of the pods");
    finding
        .related
        .push(service.label_at(line.node.get("port").unwrap_or(line.node).span(), said));
    if let Some(pod) = exception.pods.first() {
        scene::mention(&mut finding, &scene.context.mtls(&pod.workload, *target));
    }
    finding.help = Some(format!("write {target}, the port of the pods"));
    finding.fix = fix(exception, *target);
    Some(finding)
}

fn fix(exception: &Exception<'_, '_>, target: i64) -> Option<Fix> {
    let entry = exception.entry;
    let mut targets = exception.service_ports.iter();
    let is_free = exception.siblings.iter().all(|port| *port != target);
    let only_mode = entry.value.effective_entries().len() == 1 && !entry.merged;
    if !only_mode || !is_free || targets.any(|(_, _, other)| *other != target) {
        return None;
    }
    let mode = entry.value.get("mode")?.text()?;
    let policy = exception.policy;
    let route = policy.route.join(&Route::keys(&["spec", "portLevelMtls"]));
    let change = Change::Replace {
        route: route.child(entry.key.text()?.to_owned()),
        key: target.to_string(),
        value: Value::Map(vec![("mode".to_owned(), Value::from(mode))]),
    };
    let degree = if has_comment(entry) {
        Applicability::DisplayOnly
    } else {
        Applicability::Unsafe
    };
    let title = format!("make the exception for port {target}");
    Some(scene::fix(policy, title, degree, vec![change]))
}
