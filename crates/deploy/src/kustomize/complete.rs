//! Decides which objects of a file can be deployed as written, whether or not a kustomization uses
//! the file.

use meshprobe_mesh::kube::delivery::{application, argo_sources};
use meshprobe_mesh::kube::{Object, Workload};
use meshprobe_mesh::mesh::detect;
use meshprobe_mesh::mesh::detect::FactKind;
use meshprobe_tree::source::Document;
use meshprobe_yaml::{Entry, NodeRef};

/// What a complete object means for the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complete {
    /// A workload with probes or hooks, or a group of virtual machines.
    Workload,
    /// A policy of a mesh, a Namespace that takes part in one, or the installation of one.
    Policy,
    /// An object of Flux or Argo CD that deploys a folder.
    Deploying,
    /// Another object that states a fact.
    Other,
}

/// Returns whether a document contains a complete object.
pub fn has_complete(document: &Document) -> bool {
    Object::all_in(document)
        .iter()
        .any(|object| complete(object).is_some())
}

/// Returns what an object means for the checks if it can be deployed as written; `None` for a part of
/// an object, as in a patch of a kustomization. The API server rejects a pod without images and a
/// Deployment without a selector.
pub fn complete(object: &Object<'_>) -> Option<Complete> {
    let metadata = object.metadata()?;
    let is_named = !object.name().is_empty() || metadata.get("generateName").is_some();
    if !is_named || object.node.get("$patch").is_some() {
        return None;
    }
    if let Some(workload) = Workload::from_object(object) {
        return is_complete_workload(&workload).then_some(Complete::Workload);
    }
    let spec = object.node.get("spec").filter(|spec| spec.is_mapping());
    if let Some(is_complete) = spec.and_then(|spec| is_complete_deployment(object, spec)) {
        return is_complete.then_some(Complete::Deploying);
    }
    match FactKind::of(object.group(), object.kind) {
        Some(FactKind::Namespace) => has_key_of_mesh(metadata).then_some(Complete::Policy),
        Some(FactKind::Service) => {
            let spec = spec?;
            let is_complete = spec.get("ports").is_some() && spec.get("selector").is_some();
            is_complete.then_some(Complete::Other)
        }
        Some(FactKind::WorkloadGroup) => spec?.get("template").map(|_| Complete::Workload),
        Some(
            FactKind::PeerAuthentication
            | FactKind::AuthorizationPolicy
            | FactKind::NetworkPolicy
            | FactKind::Sidecar
            | FactKind::EnvoyFilter
            | FactKind::LegacyPolicy,
        ) => spec.map(|_| Complete::Policy),
        Some(FactKind::OfMesh) => {
            detect::of_object(object)?;
            spec.map(|_| Complete::Policy)
        }
        _ => {
            let is_installation = matches!(
                object.group(),
                "install.istio.io" | "sailoperator.io" | "maistra.io"
            );
            spec.filter(|_| is_installation).map(|_| Complete::Other)
        }
    }
}

/// Returns whether an object of Flux or Argo CD has the fields that its definition requires; `None`
/// for other objects.
/// Source: Flux, `kustomize.toolkit.fluxcd.io/v1`; Argo CD, `argoproj.io/v1alpha1`.
fn is_complete_deployment(object: &Object<'_>, spec: NodeRef<'_>) -> Option<bool> {
    let has = |node: NodeRef<'_>, keys: &[&str]| keys.iter().all(|key| node.get(key).is_some());
    let is_application = |spec: NodeRef<'_>| {
        let has_source = argo_sources(spec).any(|source| has(source, &["repoURL"]));
        has(spec, &["destination", "project"]) && has_source
    };
    match (object.group(), object.kind) {
        ("kustomize.toolkit.fluxcd.io", "Kustomization") => {
            Some(has(spec, &["interval", "prune", "sourceRef"]))
        }
        ("argoproj.io", "Application" | "ApplicationSet") => {
            let is_complete = object.kind == "Application" || has(spec, &["generators"]);
            Some(is_complete && application(object).is_some_and(is_application))
        }
        _ => None,
    }
}

fn is_complete_workload(workload: &Workload<'_>) -> bool {
    let containers = workload.template.containers();
    let is_set = |text: Option<&str>| text.is_some_and(|text| !text.is_empty());
    let has_selector = || {
        let spec = workload.object.node.get("spec");
        spec.and_then(|spec| spec.get("selector"))
            .is_some_and(NodeRef::is_mapping)
    };
    let needs_selector = matches!(workload.object.group(), "apps" | "extensions");
    (!needs_selector || has_selector())
        && containers
            .iter()
            .all(|container| !container.name().is_empty() && is_set(container.image()))
        && containers
            .iter()
            .any(|container| !container.handlers().is_empty())
}

/// Returns whether a label or annotation belongs to a mesh.
fn has_key_of_mesh(metadata: NodeRef<'_>) -> bool {
    ["labels", "annotations"]
        .into_iter()
        .filter_map(|key| metadata.get(key))
        .flat_map(NodeRef::entries)
        .any(|entry: Entry<'_>| entry.key.text().is_some_and(detect::is_key_of_mesh))
}
