//! Rule `vm-workloadentry-not-health-checked`, documented in `docs/rules/vm-workloadentry-not-health-checked.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::vm;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Change, FieldPath, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::vm::workload_group;

declare_rule! {
    "vm-workloadentry-not-health-checked", Warning, fix: Always, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let groups = workload_group::groups(cx);
    groups
        .filter(|group| workload_group::probe(group).is_some())
        .flat_map(|group| {
            let entries = cx.context.virtual_machines(group).entries();
            entries.filter_map(move |entry| report(group, entry))
        })
        .collect()
}

fn report(group: &Object<'_>, entry: &Object<'_>) -> Option<Finding> {
    let annotation = entry.annotation(vm::HEALTH_CHECKS_ENABLED);
    let value = annotation.map(|annotation| annotation.value.text().unwrap_or_default());
    if value.is_some_and(|value| value == "true" || placeholder::contains(value)) {
        return None;
    }
    let message = format!(
        "istiod ignores the health checks of machine `{}`: it lacks the annotation `{}: \"true\"`",
        entry.name(),
        vm::HEALTH_CHECKS_ENABLED,
    );
    let span = annotation.map_or_else(|| entry.name_span(), |annotation| annotation.value.span());
    let mut finding = RULE.finding_on_object(entry, span, message);
    let probe = workload_group::probe(group)?;
    let ignored = "istiod ignores the results of this check";
    finding
        .related
        .push(group.label_at(probe.key.span(), ignored));
    finding.help = Some(format!(
        "add the annotation `{}: \"true\"`, or let the machine register itself",
        vm::HEALTH_CHECKS_ENABLED
    ));
    let annotations = FieldPath::keys(&["metadata", "annotations", vm::HEALTH_CHECKS_ENABLED]);
    let change = Change::Set {
        route: entry.route.join(&annotations),
        value: Value::from("true"),
    };
    let title = format!("add `{}: \"true\"`", vm::HEALTH_CHECKS_ENABLED);
    let changes = vec![change];
    finding.fix = Some(Fix::of_object(
        entry,
        title,
        Applicability::unsafe_because(
            "the machine then receives no traffic until its first check has succeeded",
        ),
        changes,
    ));
    Some(finding)
}
