//! Virtual machines: `mesh.yaml` for the machines of a `WorkloadGroup`, as `istioctl x workload
//! entry configure` writes it, and a `WorkloadGroup` for what runs in pods today.

mod derive;

use serde_yaml::Value as Yaml;

use crate::context::Context;
use crate::finding::{Finding, Severity};
use crate::kube::Object;
use crate::mesh::istio::vm::{self, FaultKind};
use crate::yaml::Span;

pub(crate) use derive::workload_groups;

/// A document that is made from others.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Made {
    /// The namespace of the group; empty where nothing says one.
    pub namespace: String,
    /// The name of the group.
    pub name: String,
    /// The document.
    pub value: Yaml,
}

/// What a run makes for virtual machines.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Machines {
    /// In the order of the tree.
    pub made: Vec<Made>,
    /// For how many objects nothing was made, though it was asked for.
    pub refused: usize,
    /// Refusals (errors that name their guard), warnings and notes.
    pub findings: Vec<Finding>,
}

/// Passed by `--allow`: istioctl writes probes that istiod refuses.
pub(super) const PROBE_REFUSED: &str = "vm-probe-refused";

/// Makes `mesh.yaml` for every `WorkloadGroup` that is to be reported on. Where the tree holds no
/// mesh configuration, it holds the probe only, and a note says so.
#[must_use]
pub(crate) fn mesh_yamls(context: &Context<'_>) -> Machines {
    let mut machines = Machines::default();
    let groups = context.inventory.workload_groups.iter();
    for group in groups.filter(|group| context.is_target(group)) {
        if let Some(refusal) = refusal(context, group) {
            machines.refused += 1;
            machines.findings.push(refusal);
            continue;
        }
        let config = context.machine_config(group);
        let namespace = context.namespace_of(group).0;
        match vm::mesh_yaml(group, namespace, config.as_ref()) {
            Ok(json) => {
                machines.made.push(Made {
                    namespace: namespace.to_owned(),
                    name: group.name().to_owned(),
                    value: serde_yaml::to_value(json).unwrap_or_default(),
                });
                if config.is_none() {
                    machines.findings.push(probe_only(group));
                }
            }
            Err(misread) => {
                let said = format!("istioctl stops at `{}`: {}", misread.route, misread.message);
                machines.refused += 1;
                let mut finding = refused("vm-probe-unreadable", group, misread.span, &said);
                finding.help = Some("write what the API wants".to_owned());
                machines.findings.push(finding);
            }
        }
    }
    machines
}

/// Says why nothing is written for a group.
fn refusal(context: &Context<'_>, group: &Object<'_>) -> Option<Finding> {
    if group.document.encrypted {
        let said = "the document is encrypted with SOPS";
        return Some(refused("sops", group, group.name_span(), said));
    }
    let probe = group.node.get("spec").and_then(|spec| spec.get("probe"))?;
    if let Some(open) = vm::open_value(probe) {
        let said = "a value of its probe is filled in by another tool";
        let mut refusal = refused("placeholder", group, open.span(), said);
        refusal.help = Some("render it first".to_owned());
        return Some(refusal);
    }
    // What istioctl stops at is told as such.
    vm::read(probe).ok()?;
    let faults = vm::faults(group);
    let mut grave = faults
        .iter()
        .filter(|fault| !matches!(fault.kind, FaultKind::UnknownField(_)));
    let first = grave.next()?;
    if context.settings.allow.contains(PROBE_REFUSED) {
        return None;
    }
    let said = format!(
        "the API server or istiod refuses it: {} (`{}`)",
        first.kind.describe(),
        first.within
    );
    let mut finding = refused(PROBE_REFUSED, group, first.span, &said);
    let others = grave.map(|fault| group.label_at(fault.span, fault.kind.describe()));
    finding.related.extend(others);
    finding.help = Some(format!(
        "`--allow {PROBE_REFUSED}` writes it all the same, as istioctl does"
    ));
    Some(finding)
}

fn refused(guard: &'static str, object: &Object<'_>, span: Span, said: &str) -> Finding {
    let message = format!(
        "nothing is written for {} `{}`: {said}",
        object.kind,
        object.name()
    );
    about(guard, Severity::Error, object, span, message)
}

fn about(
    id: &'static str,
    severity: Severity,
    object: &Object<'_>,
    span: Span,
    message: String,
) -> Finding {
    let label = object.label_at(span, String::new());
    let mut finding = Finding::new(id, severity, label, message);
    finding.document = object.document.index;
    finding.object = Some(object.reference());
    finding
}

fn probe_only(group: &Object<'_>) -> Finding {
    let message = format!(
        "mesh.yaml for WorkloadGroup `{}` holds its readinessProbe only: the tree has no mesh \
         configuration, or several",
        group.name()
    );
    let span = group.name_span();
    let mut finding = about(
        "vm-mesh-config-missing",
        Severity::Note,
        group,
        span,
        message,
    );
    finding.help = Some(
        "merge it into the mesh.yaml of istioctl, or give the ConfigMap `istio` by --context"
            .to_owned(),
    );
    finding
}
