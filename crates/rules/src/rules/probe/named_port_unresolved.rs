//! Rule `named-port-unresolved`, documented in `docs/rules/named-port-unresolved.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::ProbeHandler;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::similar_names::is_close;

declare_rule! {
    "named-port-unresolved", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::PortUnresolved)
        .map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
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
    let message = format!(
        "{} uses port name `{name}`, which the container does not declare",
        handler.title()
    );
    let span = handler.handler.field_span("port");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
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
            vec![Change::Set {
                route: handler.handler.route.child(kind.to_owned()).child("port"),
                value: Value::from(*closest),
            }],
        )
    });
    finding
}
