//! Virtual machines: `mesh.yaml` for the machines of a `WorkloadGroup`, as `istioctl x workload entry configure` writes it.

use meshprobe_mesh::finding::{Finding, GuardId, Severity};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::vm;
use meshprobe_predict::context::Context;
use meshprobe_yaml::Span;
use serde_yaml::Value as Yaml;

/// A document that is generated from others.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedDocument {
    /// The namespace of the group; empty if it is not known.
    pub namespace: String,
    /// The name of the group.
    pub name: String,
    /// The document.
    pub value: Yaml,
}

/// The documents that a run generates for virtual machines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VmDocuments {
    /// In the order of the tree.
    pub made: Vec<GeneratedDocument>,
    /// The number of objects for which no document was generated although one was requested.
    pub refused: usize,
    /// Refusals (errors that name their guard), warnings and notes.
    pub findings: Vec<Finding>,
}

/// Generates `mesh.yaml` for every `WorkloadGroup` among the targets. Without a mesh configuration in the tree, it
/// contains only the probe, and a note says so.
#[must_use]
pub fn mesh_yamls(context: &Context<'_>) -> VmDocuments {
    let mut machines = VmDocuments::default();
    let groups = context.inventory.workload_groups.iter();
    for group in groups.filter(|group| context.origin_of(group).is_target()) {
        if let Some(refusal) = refusal(context, group) {
            machines.refused += 1;
            machines.findings.push(refusal);
            continue;
        }
        let config = context.virtual_machines(group).mesh_config();
        let namespace = context.namespace_of(group).name;
        match vm::mesh_yaml(group, namespace, config.as_ref()) {
            Ok(json) => {
                machines.made.push(GeneratedDocument {
                    namespace: namespace.to_owned(),
                    name: group.name().to_owned(),
                    value: serde_yaml::to_value(json).unwrap_or_default(),
                });
                if config.is_none() {
                    machines.findings.push(probe_only(group));
                }
            }
            Err(misread) => {
                let route = misread.route.to_string();
                let message = if route.is_empty() {
                    format!("istioctl fails: {}", misread.message)
                } else {
                    let reason = &misread.message;
                    format!("istioctl or the API server rejects `{route}`: {reason}")
                };
                machines.refused += 1;
                let mut finding =
                    refused(GuardId::VM_PROBE_UNREADABLE, group, misread.span, &message);
                finding.help = Some("write a value that the API accepts".to_owned());
                machines.findings.push(finding);
            }
        }
    }
    machines
}

/// Returns the refusal to generate a document for a group, if there is a reason.
fn refusal(context: &Context<'_>, group: &Object<'_>) -> Option<Finding> {
    if group.document.encrypted {
        let message = "the document is encrypted with SOPS";
        return Some(refused(GuardId::SOPS, group, group.name_span(), message));
    }
    let probe = group.node.get("spec").and_then(|spec| spec.get("probe"))?;
    if let Some(open) = vm::placeholder_value(probe) {
        let message = "a value of its probe is filled in by another tool";
        let mut refusal = refused(GuardId::PLACEHOLDER, group, open.span(), message);
        refusal.help = Some("render the manifest first".to_owned());
        return Some(refusal);
    }
    // The caller reports what istioctl fails at.
    vm::read(probe).ok()?;
    let faults = vm::find_faults(group);
    let mut serious = faults.iter().filter(|fault| fault.kind.is_refused());
    let first = serious.next()?;
    if context.settings.allow.contains(&GuardId::VM_PROBE_REFUSED) {
        return None;
    }
    let message = format!(
        "the API server or istiod rejects it: {} (`{}`)",
        first.kind.summary(),
        first.within
    );
    let mut finding = refused(GuardId::VM_PROBE_REFUSED, group, first.span, &message);
    let other_labels = serious.map(|fault| group.label_at(fault.span, fault.kind.summary()));
    finding.related.extend(other_labels);
    finding.help = Some(format!(
        "`--allow {}` writes it anyway, as istioctl does",
        GuardId::VM_PROBE_REFUSED
    ));
    Some(finding)
}

fn refused(guard: GuardId, object: &Object<'_>, span: Span, reason: &str) -> Finding {
    let message = format!(
        "nothing is written for {} `{}`: {reason}",
        object.kind,
        object.name()
    );
    Finding::on_object(object, span, (guard, Severity::Error), message)
}

fn probe_only(group: &Object<'_>) -> Finding {
    let message = format!(
        "mesh.yaml for WorkloadGroup `{}` contains only its readinessProbe: the tree contains no \
         mesh configuration, or several",
        group.name()
    );
    let id = (GuardId::VM_MESH_CONFIG_MISSING, Severity::Note);
    let mut finding = Finding::on_object(group, group.name_span(), id, message);
    finding.help = Some(
        "merge it into the mesh.yaml of istioctl, or add the ConfigMap `istio` with `--context`"
            .to_owned(),
    );
    finding
}
