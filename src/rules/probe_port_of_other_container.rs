//! Rule `probe-port-of-other-container`.

use hashbrown::HashMap;

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::{Applicability, Finding};
use crate::kube::{Action, Container, ContainerPort};
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, NodeRef, Value};

declare_rule! {
    /// Finds probes that name a port which only another container declares.
    ///
    /// ## What it checks
    /// A probe or hook whose port is a name that its own container does not declare, but another
    /// container of the pod does.
    ///
    /// ## Why it matters
    /// A name is looked up in the own container only, by the kubelet and by the injector: the probe
    /// fails with and without a mesh. Containers of a pod share their network, so the number works.
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
    ///           port: metrics
    ///     - name: exporter
    ///       image: registry.example/exporter:1
    ///       ports:
    ///         - name: metrics
    ///           containerPort: 9100
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
    ///           port: 9100
    ///     - name: exporter
    ///       image: registry.example/exporter:1
    ///       ports:
    ///         - name: metrics
    ///           containerPort: 9100
    /// ```
    ///
    /// ## Fix safety
    /// Writing the number is unsafe: the probe then works, and tests the other container.
    ///
    /// ## References
    /// - Kubernetes API reference: HTTPGetAction, ContainerPort
    /// - Istio documentation: "Health Checking of Istio Services"
    "probe-port-of-other-container", Error, fix: Always, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene
        .handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::PortOfOtherContainer);
    let mut findings = Vec::new();
    let mut last: Option<(&WorkloadPrediction<'_>, Declarations<'_>)> = None;
    for (pod, handler) in struck {
        let known = last.take().filter(|(of, _)| std::ptr::eq(*of, pod));
        let (_, declarations) = last.insert(known.unwrap_or_else(|| (pod, declared_ports(pod))));
        findings.extend(report(pod, handler, declarations));
    }
    findings
}

fn report(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    declarations: &Declarations<'_>,
) -> Option<Finding> {
    let action = handler.handler.action.as_ref().ok()?;
    let name = action.port()?.to_string();
    let (other, declared) = declarations.get(name.as_str())?;
    let number = declared.number?;
    let message = format!(
        "{} will fail: only container `{}` declares port `{name}`, and names of other containers \
         are not looked up",
        handler.title(),
        other.name(),
    );
    let span = handler.handler.field_span("port");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    let place = declared.node.get("name").map(NodeRef::span);
    let said = format!("`{name}` is declared here");
    let object = &pod.workload.object;
    finding
        .related
        .extend(place.map(|span| object.label_at(span, said)));
    finding.help = Some(format!(
        "write {number}, or declare the port in container `{}`",
        handler.container.name()
    ));
    let route = handler
        .handler
        .route
        .child(Action::key(action))
        .child("port");
    let value = Value::Int(number);
    finding.fix = Some(scene::fix(
        object,
        format!("write the number {number}"),
        Applicability::Unsafe,
        vec![Change::Set { route, value }],
    ));
    Some(finding)
}

/// The first container of a pod that declares a port of each name, with a number.
type Declarations<'t> = HashMap<&'t str, (Container<'t>, ContainerPort<'t>)>;

fn declared_ports<'t>(pod: &WorkloadPrediction<'t>) -> Declarations<'t> {
    let mut found = HashMap::new();
    for container in pod.workload.template.containers() {
        for port in container.ports().filter(|port| port.number.is_some()) {
            if let Some(name) = port.name {
                let declaration = || (container.clone(), port);
                found.entry(name).or_insert_with(declaration);
            }
        }
    }
    found
}
