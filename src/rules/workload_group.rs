//! What the rules about virtual machines share: groups with their probes and machines, and their
//! faults as findings.

use super::{Rule, Scene, scene};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::istio::vm;
use crate::yaml::{Entry, Span, Step};

/// Iterates over the groups of the tree.
pub(super) fn groups<'s, 't>(
    scene: &Scene<'s, 't>,
) -> impl Iterator<Item = &'s Object<'t>> + use<'s, 't> {
    let groups = scene.context.inventory.workload_groups.iter();
    let may_have_mesh = scene.may_have_mesh();
    groups.filter(move |_| may_have_mesh)
}

/// Iterates over the faults of all groups.
pub(super) fn faults<'s, 't>(
    scene: &Scene<'s, 't>,
) -> impl Iterator<Item = (&'s Object<'t>, vm::Fault)> + use<'s, 't> {
    groups(scene).flat_map(|group| {
        let faults = vm::faults(group).into_iter();
        faults.map(move |fault| (group, fault))
    })
}

/// Returns the entry of `spec.probe`, unless it is null.
pub(super) fn probe<'t>(group: &Object<'t>) -> Option<Entry<'t>> {
    let entry = group.node.get("spec")?.entry("probe")?;
    entry.value.is_mapping().then_some(entry)
}

/// Names a group for messages.
pub(super) fn title(group: &Object<'_>) -> String {
    format!("WorkloadGroup `{}`", group.name())
}

/// Returns the text of a place as it is written.
pub(super) fn source<'t>(group: &Object<'t>, span: Span) -> &'t str {
    span.slice(group.node.tree().text())
}

/// Returns the name of the field at fault.
pub(super) fn field(fault: &vm::Fault) -> String {
    match fault.within.steps().last() {
        Some(Step::Key(key)) => key.to_string(),
        _ => fault.within.to_string(),
    }
}

/// Turns a fault into a finding.
pub(super) fn report(
    rule: &Rule,
    group: &Object<'_>,
    fault: &vm::Fault,
    message: String,
    help: &str,
) -> Finding {
    let mut finding = scene::about_object(rule, group, fault.span, message);
    finding.field = Some(fault.within.to_string());
    finding.help = Some(help.to_owned());
    finding
}
