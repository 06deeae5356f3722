//! Rule `vm-unknown-field`, documented in `docs/rules/vm-unknown-field.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::vm;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::similar_names::is_close;
use crate::rules::vm::workload_group;

declare_rule! {
    "vm-unknown-field", Warning, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    workload_group::faults(cx)
        .filter_map(|(group, fault)| report(group, &fault))
        .collect()
}

fn report(group: &Object<'_>, fault: &vm::Fault) -> Option<Finding> {
    let vm::FaultKind::UnknownField(known) = &fault.kind else {
        return None;
    };
    let name = workload_group::field(fault);
    let message = format!(
        "`{name}` of {} is not a field of the API: the API server silently drops it",
        workload_group::title(group),
    );
    let similar = known.iter().find(|known| is_similar(&name, known));
    let help = match similar {
        Some(known) => format!("use `{known}`"),
        None => format!("remove it, or use one of {}", known.join(", ")),
    };
    Some(workload_group::report(&RULE, group, fault, message, &help))
}

/// Checks whether a name resembles a known field, or is the name that pods use for it.
fn is_similar(name: &str, known: &str) -> bool {
    let of_pods = known == "probe" && name.to_lowercase().ends_with("probe");
    let shortened = name.len() > 5 && known.starts_with(name);
    let snake = name.contains('_') && name.replace('_', "").eq_ignore_ascii_case(known);
    of_pods || shortened || snake || is_close(name, known)
}
