//! Rule `probe-port-of-other-container`, documented in `docs/rules/probe-port-of-other-container.md`.

use hashbrown::HashMap;
use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::{Container, ContainerPort, ProbeHandler};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Change, NodeRef, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "probe-port-of-other-container", Error, fix: Always, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let affected = cx
        .handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::PortOfOtherContainer);
    let mut findings = Vec::new();
    let mut last: Option<(&WorkloadPrediction<'_>, Declarations<'_>)> = None;
    for (pod, handler) in affected {
        let known = last.take().filter(|(owner, _)| std::ptr::eq(*owner, pod));
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
        "{} will fail: only container `{}` declares port `{name}`, and port names of other \
         containers are not resolved",
        handler.title(),
        other.name(),
    );
    let span = handler.handler.field_span("port");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    let declaration = declared.node.get("name").map(NodeRef::span);
    let message = format!("`{name}` is declared here");
    let object = &pod.workload.object;
    finding
        .related
        .extend(declaration.map(|span| object.label_at(span, message)));
    finding.help = Some(format!(
        "set `port: {number}`, or declare the port in container `{}`",
        handler.container.name()
    ));
    let route = handler
        .handler
        .route
        .child(ProbeHandler::key(action))
        .child("port");
    let value = Value::Int(number);
    finding.fix = Some(Fix::of_object(
        object,
        format!("set `port: {number}`"),
        Applicability::unsafe_because(format!(
            "the probe then checks container `{}`",
            other.name()
        )),
        vec![Change::Set { route, value }],
    ));
    Some(finding)
}

/// For each port name, the first container of a pod that declares it with a number, and the declaration.
type Declarations<'t> = HashMap<&'t str, (Container<'t>, ContainerPort<'t>)>;

fn declared_ports<'t>(pod: &WorkloadPrediction<'t>) -> Declarations<'t> {
    let mut declarations = HashMap::new();
    for container in pod.workload.template.containers() {
        for port in container.ports().filter(|port| port.number.is_some()) {
            if let Some(name) = port.name {
                let declaration = || (container.clone(), port);
                declarations.entry(name).or_insert_with(declaration);
            }
        }
    }
    declarations
}
