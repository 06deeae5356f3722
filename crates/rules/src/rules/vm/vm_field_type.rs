//! Rule `vm-field-type`, documented in `docs/rules/vm-field-type.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::vm;

use crate::rules::RuleContext;
use crate::rules::pre_rewritten::yaml11_header_value::quote;
use crate::rules::rule::declare_rule;
use crate::rules::vm::workload_group;

declare_rule! {
    "vm-field-type", Error, fix: Sometimes, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    workload_group::faults(cx)
        .filter_map(|(group, fault)| report(group, &fault))
        .collect()
}

fn report(group: &Object<'_>, fault: &vm::Fault) -> Option<Finding> {
    let title = workload_group::title(group);
    let finding = |message, help: &str| workload_group::report(&RULE, group, fault, message, help);
    match &fault.kind {
        vm::FaultKind::WrongType(reason) => {
            let field = workload_group::field(fault);
            let message = format!("the API server refuses `{field}` of {title}: {reason}");
            let help = "use the type that the API expects; the API server refuses the whole object";
            Some(finding(message, help))
        }
        vm::FaultKind::HeaderValue(kind) => {
            let node = group.node.at(&fault.within)?;
            let text = node.text()?;
            let message = format!(
                "the API server refuses the probe of {title}: a header has the value `{text}`, which \
                 is {kind}, not a string",
            );
            let mut finding = finding(message, "");
            quote(&mut finding, group, group.route.join(&fault.within), node);
            Some(finding)
        }
        _ => None,
    }
}
