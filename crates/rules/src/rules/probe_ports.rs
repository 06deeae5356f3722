//! Rules about the ports of probes.

use hashbrown::HashMap;
use meshprobe_mesh::finding::{Applicability, Finding, Fix, Sentence};
use meshprobe_mesh::kube::{Container, ContainerPort, Port, ProbeHandler, RejectionKind};
use meshprobe_predict::predict::{
    Cause, HandlerPrediction, WorkloadPrediction, is_quoted_number, port_text,
};
use meshprobe_yaml::{Change, NodeRef, Value};

use crate::rules::RuleContext;
use crate::rules::support::finding_builder::probe_ref;
use crate::rules::support::fix_safety;
use crate::rules::support::similar_names::is_close;

crate::rules::rule::rules! {
    NAMED_PORT_UNRESOLVED = "named-port-unresolved", Error, fix: Sometimes, scope: Workloads,
        |cx| cx.each_with(Cause::PortUnresolved, named_port_unresolved);
    PROBE_PORT_OF_OTHER_CONTAINER = "probe-port-of-other-container", Error, fix: Always, scope: Workloads,
        check_probe_port_of_other_container;
    PROBE_PORT_OUT_OF_RANGE = "probe-port-out-of-range", Error, fix: None, scope: Workloads,
        |cx| cx.each_handler(probe_port_out_of_range);
    PROBE_PORT_QUOTED_NUMBER = "probe-port-quoted-number", Error, fix: Sometimes, scope: Workloads,
        |cx| cx.each_handler(probe_port_quoted_number);
}

fn named_port_unresolved(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let action = handler.handler.action.as_ref().ok();
    let name = action
        .and_then(ProbeHandler::port)
        .map(|port| port.to_string())
        .unwrap_or_default();
    let declared: Vec<&str> = handler
        .container
        .ports()
        .filter_map(|port| port.name)
        .collect();
    let sentence = Sentence::verb(
        ("uses", "use"),
        format!(" port name `{name}`, which the container does not declare"),
    );
    let span = handler.handler.field_span("port");
    let mut finding = NAMED_PORT_UNRESOLVED.finding_on_handler(pod, handler, span, sentence);
    let closest = declared.iter().find(|other| is_close(&name, other));
    finding.help = Some(match (closest, declared.as_slice()) {
        (Some(closest), _) => format!("did you mean `{closest}`?"),
        (None, []) => format!("declare the port in the container: `name: {name}` under `ports`"),
        (None, names) => format!("declare the port, or use one of: `{}`", names.join("`, `")),
    });
    let kind = action.map_or("", ProbeHandler::key);
    let object = &pod.workload.object;
    finding.fix = closest.map(|closest| {
        Fix::of_object(
            object,
            format!("use the declared port name `{closest}`"),
            Applicability::unsafe_because(
                "another port may be intended than the one with the most similar name",
            ),
            vec![Change::set(
                handler.handler.route.child(kind.to_owned()).child("port"),
                *closest,
            )],
        )
    });
    finding
}

fn check_probe_port_of_other_container(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let affected = cx
        .handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::PortOfOtherContainer);
    let mut findings = Vec::new();
    let mut last: Option<(&WorkloadPrediction<'_>, Declarations<'_>)> = None;
    for (pod, handler) in affected {
        let known = last.take().filter(|(owner, _)| std::ptr::eq(*owner, pod));
        let (_, declarations) = last.insert(known.unwrap_or_else(|| (pod, declared_ports(pod))));
        findings.extend(probe_port_of_other_container(pod, handler, declarations));
    }
    findings
}

fn probe_port_of_other_container(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    declarations: &Declarations<'_>,
) -> Option<Finding> {
    let action = handler.handler.action.as_ref().ok()?;
    let name = action.port()?.to_string();
    let (other, declared) = declarations.get(name.as_str())?;
    let number = declared.number?;
    let sentence = Sentence::all(format!(
        "will fail: only container `{}` declares port `{name}`, and port names of other containers are not resolved",
        other.name()
    ));
    let span = handler.handler.field_span("port");
    let mut finding =
        PROBE_PORT_OF_OTHER_CONTAINER.finding_on_handler(pod, handler, span, sentence);
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

fn probe_port_out_of_range(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    let refusal = handler
        .api_rejection()
        .filter(|refusal| refusal.kind == RejectionKind::PortRange)?;
    let sentence = Sentence::after("the API server refuses ", format!(": {}", refusal.reason));
    let span = handler.handler.field_span(refusal.field);
    let mut finding = PROBE_PORT_OUT_OF_RANGE.finding_on_handler(pod, handler, span, sentence);
    finding.help = Some("set the port of the application".to_owned());
    Some(finding)
}

fn probe_port_quoted_number(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    let action = handler.handler.action.as_ref().ok()?;
    let port = action.port()?;
    let Port::Name(name) = &port else {
        return None;
    };
    if !is_quoted_number(name) || handler.verdict.cause == Cause::Malformed {
        return None;
    }
    let end = format!(
        ": port `{}` is a string, neither a number nor the name of a port",
        port_text(&port),
    );
    let span = handler.handler.field_span("port");
    // The API server refuses the port regardless of the mesh, so the finding depends on none of its facts.
    let mut finding =
        PROBE_PORT_QUOTED_NUMBER.finding_on_workload(&pod.workload, span, String::new());
    finding.set_sentence(
        &handler.title(),
        Sentence::after("the API server refuses ", end),
    );
    finding.container = Some(handler.container.name().to_owned());
    finding.probe = Some(probe_ref(pod, handler));
    let field = handler.handler.within.child(ProbeHandler::key(action));
    finding.field = Some(field.child("port").to_string());
    finding.help = Some("remove the quotes".to_owned());
    if handler.verdict.cause == Cause::PortQuoted {
        finding.outcome = Some(handler.verdict.outcome.as_str());
        // Only a bare Pod runs: the injector changes its port before the API server validates it.
        if pod.workload.object.kind == "Pod" {
            finding.kubelet.clone_from(&handler.verdict.kubelet);
        }
    }
    let number = name.parse::<i64>().ok();
    let Some(number) = number.filter(|number| (1..=65535).contains(number)) else {
        finding.help = Some("set the number of a port, without quotes".to_owned());
        return Some(finding);
    };
    let applicability = if pod.is_prerewritten() {
        fix_safety::pre_rewritten()
    } else {
        Applicability::Safe
    };
    let change = Change::set(
        handler
            .handler
            .route
            .child(ProbeHandler::key(action))
            .child("port"),
        number,
    );
    finding.fix = Some(Fix::of_object(
        &pod.workload.object,
        format!("set `port: {number}`, without quotes"),
        applicability,
        vec![change],
    ));
    Some(finding)
}
