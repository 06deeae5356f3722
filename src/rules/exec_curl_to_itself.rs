//! Rule `exec-curl-to-itself`.

use super::rule::declare_rule;
use super::{Scene, legacy_auth_annotation, scene};
use crate::context::Dataplane;
use crate::finding::{Applicability, Finding};
use crate::kube::{Object, own_request};
use crate::mesh::Fact;
use crate::predict::{HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, Entry, Value};

declare_rule! {
    /// Finds probes that run curl against their own pod, as was needed before Istio rewrote probes.
    ///
    /// ## What it checks
    /// An `exec` probe, in a mesh that rewrites probes, whose command is one call of curl or wget
    /// to a loopback address and nothing more: no headers, no other method, no pipe. Also where a
    /// Service of the pods carries the annotation `auth.istio.io/PORT` of the same years.
    ///
    /// ## Why it matters
    /// The image must hold the tool, and every check starts a process, whose time counts for the
    /// timeout. The agent makes the same check for an `httpGet` probe, under every mode of mutual
    /// TLS.
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
    ///         periodSeconds: 5
    ///         exec:
    ///           command: [curl, -f, "http://localhost:8080/healthz"]
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
    ///         periodSeconds: 5
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// Unsafe: an application that listens on 127.0.0.1 only is out of reach, since the agent calls
    /// the address of the pod. Without `-f`, curl takes every answer for success, and `httpGet`
    /// does not.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    "exec-curl-to-itself", Note, fix: Always, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let handlers = scene.handlers();
    handlers
        .filter_map(|(pod, handler)| report(scene, pod, handler))
        .collect()
}

fn report<'t>(
    scene: &Scene<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<Finding> {
    let request = own_request(&handler.handler)?;
    let old = legacy_service(scene, pod);
    let in_mesh = pod.dataplane.value == Dataplane::Sidecar;
    let why = match pod.dataplane.value {
        Dataplane::Sidecar if pod.rewrite.value => "the agent makes the check",
        Dataplane::Unknown if pod.rewrite.value && old.is_some() => "the agent makes the check",
        Dataplane::None if old.is_some() => "no proxy stands in the way",
        _ => return None,
    };
    if handler.handler.slot.is_lifecycle() {
        return None;
    }
    let message = format!(
        "{} runs {} against port {} of its own pod, where httpGet would do: {why}",
        handler.title(),
        request.tool,
        request.port,
    );
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.outcome = None;
    if in_mesh {
        scene::rest_on_fact(&mut finding, &pod.dataplane);
    } else if let Some((service, entry)) = old {
        let said = "this annotation is of the years before Istio rewrote probes";
        finding
            .related
            .push(service.label_at(entry.key.span(), said));
        if pod.dataplane.value == Dataplane::Unknown {
            let said = "the pods are taken for pods of the mesh";
            let settle = Some("--assume injection=all|none");
            scene::rest_on_fact(&mut finding, &Fact::assumed((), said, settle));
        }
    }
    finding.help = Some("use httpGet".to_owned());
    let mut fields = vec![
        ("path".to_owned(), Value::from(request.path.as_str())),
        ("port".to_owned(), Value::Int(i64::from(request.port))),
    ];
    if request.https {
        fields.push(("scheme".to_owned(), Value::from("HTTPS")));
    }
    let change = Change::Replace {
        route: handler.handler.route.child("exec"),
        key: "httpGet".to_owned(),
        value: Value::Map(fields),
    };
    let title = "ask by httpGet";
    let object = &pod.workload.object;
    let changes = vec![change];
    finding.fix = Some(scene::fix(object, title, Applicability::Unsafe, changes));
    Some(finding)
}

/// Returns the Service of the pods with an annotation of the time.
fn legacy_service<'s, 't>(
    scene: &Scene<'s, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Option<(&'s Object<'t>, Entry<'t>)> {
    let services = scene.context.service_ports(&pod.workload).into_iter();
    services
        .map(|(service, _, _)| service)
        .find_map(|service| Some((service, legacy_auth_annotation::first(service)?)))
}
