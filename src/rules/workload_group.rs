//! What the rules about virtual machines share: groups with their probes and machines, and their
//! faults as findings.

use super::{Rule, Scene, scene};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::istio::vm;
use crate::yaml::{Entry, NodeRef, Span, Step};

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

/// Iterates over the machines of the tree that are likely of a group: nothing names it, so the
/// labels, or where there are none the service account, must be those of the group.
pub(super) fn entries<'s, 't>(
    scene: &Scene<'s, 't>,
    group: &'s Object<'t>,
) -> impl Iterator<Item = &'s Object<'t>> + use<'s, 't> {
    let context = scene.context;
    let home = context.namespace_of(group).0;
    let entries = context.inventory.workload_entries.iter();
    entries.filter(move |entry| context.namespace_of(entry).0 == home && is_of(entry, group))
}

fn is_of(entry: &Object<'_>, group: &Object<'_>) -> bool {
    let of_group = group.node.get("spec");
    let of_entry = entry.node.get("spec");
    let labels = of_group.and_then(|spec| spec.get("metadata")?.get("labels"));
    let own = of_entry.and_then(|spec| spec.get("labels"));
    if let (Some(labels), Some(own)) = (labels, own)
        && !labels.effective_entries().is_empty()
    {
        let has = |label: Entry<'_>| {
            let key = label.key.text().unwrap_or_default();
            own.get(key).and_then(NodeRef::text) == label.value.text()
        };
        return labels.effective_entries().into_iter().all(has);
    }
    let account = |node: Option<NodeRef<'_>>| {
        let text = node?.get("serviceAccount")?.text()?;
        (!text.is_empty()).then(|| text.to_owned())
    };
    let of_machines = account(of_group.and_then(|spec| spec.get("template")));
    of_machines.is_some() && of_machines == account(of_entry)
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
