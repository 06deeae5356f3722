//! Rule `probe-port-quoted-number`, documented in `docs/rules/probe-port-quoted-number.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::{Port, ProbeHandler};
use meshprobe_predict::predict::{
    Cause, HandlerPrediction, WorkloadPrediction, is_quoted_number, port_text,
};
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::finding_builder::probe_ref;
use crate::rules::support::fix_safety;

declare_rule! {
    "probe-port-quoted-number", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let action = handler.handler.action.as_ref().ok()?;
    let port = action.port()?;
    let Port::Name(name) = &port else {
        return None;
    };
    if !is_quoted_number(name) || handler.verdict.cause == Cause::Malformed {
        return None;
    }
    let message = format!(
        "the API server refuses {}: port `{}` is a string, neither a number nor the name of \
         a port",
        handler.title(),
        port_text(&port),
    );
    let span = handler.handler.field_span("port");
    // The API server refuses the port regardless of the mesh, so the finding depends on none of its facts.
    let mut finding = RULE.finding_on_workload(&pod.workload, span, message);
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
    let change = Change::Set {
        route: handler
            .handler
            .route
            .child(ProbeHandler::key(action))
            .child("port"),
        value: Value::Int(number),
    };
    finding.fix = Some(Fix::of_object(
        &pod.workload.object,
        format!("set `port: {number}`, without quotes"),
        applicability,
        vec![change],
    ));
    Some(finding)
}
