//! Refuses to undo rewrites in patches of kustomizations: they contain parts of pods and are never edited.

use meshprobe_mesh::finding::{Finding, GuardId, Severity};
use meshprobe_mesh::kube::{Object, ObjectId, Workload};
use meshprobe_mesh::mesh::istio::rewrite::is_agent_path;
use meshprobe_tree::source::{Role, SourceSet};
use meshprobe_yaml::{NodeRef, Span};

use super::carrier::Carrier;
use crate::rewrite::plan::not_undone;

/// Returns a refusal for each patch that contains a part of a rewrite.
pub(super) fn refusals(sources: &SourceSet) -> Vec<(ObjectId, Finding)> {
    let documents = sources
        .files
        .iter()
        .filter(|file| file.role == Role::Target)
        .flat_map(|file| &file.documents);
    documents
        .filter(|document| document.patch)
        .flat_map(Object::all_in)
        .filter_map(|object| {
            let workload = Workload::from_object(&object)?;
            Some((object.id(), refusal(&workload, rewritten_at(&workload)?)))
        })
        .collect()
}

/// Returns the position of a part of a rewrite.
fn rewritten_at(workload: &Workload<'_>) -> Option<Span> {
    if let Some(carrier) = Carrier::all_of(workload).first() {
        return Some(carrier.span());
    }
    let containers = workload.template.containers();
    let mut paths = containers
        .iter()
        .flat_map(|container| container.handlers())
        .filter_map(|handler| handler.node.get("httpGet")?.get("path"));
    paths
        .find(|path| path.text().is_some_and(is_agent_path))
        .map(NodeRef::span)
}

fn refusal(workload: &Workload<'_>, span: Span) -> Finding {
    let object = &workload.object;
    let label = object.label_at(span, String::new());
    let guard = GuardId::KUSTOMIZE_PATCH;
    let mut finding = Finding::new(guard, Severity::Error, label, String::new());
    finding.set_refusal(not_undone(workload, "it is in a patch of a kustomization"));
    finding.document = object.document.index;
    finding.object = Some(object.reference());
    let help = "undo it in what the overlay builds: `kustomize build DIR | meshprobe rewrite --undo \
                --context . -`";
    finding.help = Some(help.into());
    finding
}
