//! Rule `vm-probe-in-annotation`, documented in `docs/rules/vm-probe-in-annotation.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::vm;
use meshprobe_yaml::Entry;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::vm::workload_group;

declare_rule! {
    "vm-probe-in-annotation", Error, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let groups = workload_group::groups(cx);
    groups
        .flat_map(|group| {
            let annotated = vm::annotated_probes(group).into_iter();
            annotated.map(move |entry| report(group, entry))
        })
        .collect()
}

fn report(group: &Object<'_>, annotation: Entry<'_>) -> Finding {
    let instead = match workload_group::probe(group) {
        Some(_) => "istioctl replaces it with `spec.probe`",
        None => {
            "istioctl replaces it with `spec.probe`, which is missing, so no machine is checked"
        }
    };
    let message = format!(
        "the `readinessProbe` in an annotation of {} has no effect: {instead}",
        workload_group::title(group),
    );
    let mut finding = RULE.finding_on_object(group, annotation.key.span(), message);
    if let Some(probe) = workload_group::probe(group) {
        let effective = "this probe is used instead";
        finding
            .related
            .push(group.label_at(probe.key.span(), effective));
    }
    finding.help = Some("move it to `spec.probe`".to_owned());
    finding
}
