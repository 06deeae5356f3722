//! Shared code of the rules about virtual machines: the groups, their probes, and their faults as findings.

use meshprobe_mesh::finding::{Finding, ProbeRef};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::vm;
use meshprobe_yaml::{Entry, Span, Step};

use crate::rules::{Rule, RuleContext};

/// Iterates over the `WorkloadGroup`s of the tree; over none if the options exclude a mesh.
pub(in crate::rules) fn groups<'s, 't>(
    cx: &RuleContext<'s, 't>,
) -> impl Iterator<Item = &'s Object<'t>> + use<'s, 't> {
    let groups = cx.context.inventory.workload_groups.iter();
    let may_have_mesh = cx.may_have_mesh();
    groups.filter(move |_| may_have_mesh)
}

/// Iterates over the faults of all groups.
pub(in crate::rules) fn faults<'s, 't>(
    cx: &RuleContext<'s, 't>,
) -> impl Iterator<Item = (&'s Object<'t>, vm::Fault)> + use<'s, 't> {
    groups(cx).flat_map(|group| {
        let faults = vm::find_faults(group).into_iter();
        faults.map(move |fault| (group, fault))
    })
}

/// Returns the entry of `spec.probe`, unless it is null.
pub(in crate::rules) fn probe<'t>(group: &Object<'t>) -> Option<Entry<'t>> {
    let entry = group.node.get("spec")?.entry("probe")?;
    entry.value.is_mapping().then_some(entry)
}

/// Creates a finding about the probe of a group.
pub(in crate::rules) fn finding_on_probe(
    rule: &Rule,
    group: &Object<'_>,
    span: Span,
    message: String,
) -> Finding {
    let mut finding = rule.finding_on_object(group, span, message);
    finding.probe = probe(group).map(|probe| {
        let label = group.label_at(probe.key.span(), String::new());
        ProbeRef {
            title: "probe".to_owned(),
            path: label.path,
            span: label.span,
        }
    });
    finding
}

/// Returns the name of a group for messages: "WorkloadGroup `web`".
pub(in crate::rules) fn title(group: &Object<'_>) -> String {
    format!("WorkloadGroup `{}`", group.name())
}

/// Returns the source text of a span, quotes included.
pub(in crate::rules) fn source<'t>(group: &Object<'t>, span: Span) -> &'t str {
    span.slice(group.node.tree().text())
}

/// Returns the name of the field that has the fault.
pub(in crate::rules) fn field(fault: &vm::Fault) -> String {
    match fault.within.steps().last() {
        Some(Step::Key(key)) => key.to_string(),
        _ => fault.within.to_string(),
    }
}

/// Turns a fault into a finding.
pub(in crate::rules) fn report(
    rule: &Rule,
    group: &Object<'_>,
    fault: &vm::Fault,
    message: String,
    help: &str,
) -> Finding {
    let field = fault.within.to_string();
    let mut finding = match field.starts_with("spec.probe") {
        true => finding_on_probe(rule, group, fault.span, message),
        false => rule.finding_on_object(group, fault.span, message),
    };
    finding.field = Some(field);
    finding.help = Some(help.to_owned());
    finding
}
