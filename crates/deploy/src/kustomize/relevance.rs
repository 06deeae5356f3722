//! Decides which objects of a rendering are kept.

use meshprobe_mesh::mesh::detect;
use meshprobe_mesh::mesh::detect::FactKind;
use meshprobe_tree::source::is_kustomization;

use super::resource::Resource;

/// Kinds of objects from which releases of charts take values.
const VALUES: [&str; 2] = ["ConfigMap", "Secret"];

/// Kinds of objects that deploy others, and of the sources of Flux that they deploy from.
const DEPLOYING: [&str; 6] = [
    "Application",
    "ApplicationSet",
    "Bucket",
    "GitRepository",
    "Kustomization",
    "OCIRepository",
];

pub(crate) fn is_relevant(resource: &Resource) -> bool {
    if is_list(resource) || is_generated_mesh_config(resource) {
        return true;
    }
    let (group, _) = resource.group_version();
    let kind = resource.name().kind;
    match FactKind::of(group, kind) {
        Some(FactKind::Definition) => {
            let group = resource.body.text_below(&["spec", "group"]);
            detect::defined_mesh(group).is_some()
        }
        Some(_) => true,
        None => DEPLOYING.contains(&kind) || resource.body.has(&["spec", "template"]),
    }
}

/// Returns whether a generator makes an object that may configure a mesh. Others are read as written.
fn is_generated_mesh_config(resource: &Resource) -> bool {
    has_values(resource)
        && is_kustomization(&resource.path)
        && resource.original().name.starts_with("istio")
}

/// Returns whether releases of charts can take values from an object.
pub(crate) fn has_values(resource: &Resource) -> bool {
    VALUES.contains(&resource.name().kind) && resource.group_version().0.is_empty()
}

/// Returns whether an object may deploy others, or contain an object that does.
pub(crate) fn may_deploy(resource: &Resource) -> bool {
    DEPLOYING.contains(&resource.name().kind) || is_list(resource)
}

/// Returns whether kubectl may expand an object that kustomize leaves unchanged, because it has the field `items`.
fn is_list(resource: &Resource) -> bool {
    resource.body.has(&["items"])
}

/// Returns whether an object runs pods.
pub(crate) fn runs_pods(resource: &Resource) -> bool {
    let kind = resource.name().kind;
    matches!(kind, "CronJob" | "Pod" | "PodTemplate")
        || resource.body.has(&["spec", "template"])
        || is_list(resource)
}
