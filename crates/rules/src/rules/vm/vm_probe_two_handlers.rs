//! Rule `vm-probe-two-handlers`, documented in `docs/rules/vm-probe-two-handlers.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix, sentence_list};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::vm;
use meshprobe_yaml::Change;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::vm::workload_group;

declare_rule! {
    "vm-probe-two-handlers", Error, fix: Sometimes, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    workload_group::faults(cx)
        .filter_map(|(group, fault)| report(group, &fault))
        .collect()
}

fn report(group: &Object<'_>, fault: &vm::Fault) -> Option<Finding> {
    let vm::FaultKind::SeveralMethods { kept, dropped } = &fault.kind else {
        return None;
    };
    let names: Vec<String> = dropped
        .iter()
        .map(|method| format!("`{}`", method.key()))
        .collect();
    let (names, kept_name) = (sentence_list(&names), kept.key());
    let message = format!(
        "the probe of {} has several handlers: the schema of recent releases refuses it, and istioctl keeps \
         `{kept_name}` and drops {names}",
        workload_group::title(group),
    );
    let help = "keep only one handler";
    let mut finding = workload_group::report(&RULE, group, fault, message, help);
    finding.fix = (*kept != vm::Method::Grpc).then(|| {
        let route = group.route.join(&fault.within);
        let changes = dropped.iter().map(|method| Change::Remove {
            route: route.child(method.key()),
        });
        let reason = format!("{names} may be the intended check");
        let title = format!("remove {names}, which istioctl drops");
        Fix::of_object(
            group,
            title,
            Applicability::unsafe_because(reason),
            changes.collect(),
        )
    });
    Some(finding)
}
