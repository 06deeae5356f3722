//! Rule `vm-port-name`, documented in `docs/rules/vm-port-name.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::{Object, Port};
use meshprobe_mesh::mesh::istio::vm;
use meshprobe_predict::predict::port_text;
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::vm::workload_group;

declare_rule! {
    "vm-port-name", Error, fix: Sometimes, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    workload_group::faults(cx)
        .filter_map(|(group, fault)| report(group, &fault))
        .collect()
}

fn report(group: &Object<'_>, fault: &vm::Fault) -> Option<Finding> {
    let vm::FaultKind::PortName { name, number } = &fault.kind else {
        return None;
    };
    let message = format!(
        "the probe of {} targets port `{}`, which is not a number: the API server refuses it",
        workload_group::title(group),
        port_text(&Port::Name(name.clone())),
    );
    let help = match number {
        Some(port) => format!("set the port to {port}"),
        None => "set the number of the port".to_owned(),
    };
    let mut finding = workload_group::report(&RULE, group, fault, message, &help);
    finding.fix = number
        .filter(|port| (1..=65535).contains(port))
        .map(|port| {
            let is_same = *name == port.to_string();
            let applicability = if is_same {
                Applicability::Safe
            } else {
                Applicability::unsafe_because(format!(
                    "another port may be intended than the one that `spec.template.ports` contains as `{}`",
                    port_text(&Port::Name(name.clone()))
                ))
            };
            let change = Change::Set {
                route: group.route.join(&fault.within),
                value: Value::Int(port),
            };
            let title = format!("set the port to {port}");
            Fix::of_object(group, title, applicability, vec![change])
        });
    Some(finding)
}
