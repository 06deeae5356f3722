//! What kustomize refuses in a kustomization file itself.

use meshprobe_mesh::settings::most_similar;
use meshprobe_tree::source::{FieldFault, FieldFaultKind, field_faults};
use meshprobe_yaml::{Entry, NodeRef, Span};

use crate::kustomize::rendering::Topic;
use crate::kustomize::unknown::Unknown;

/// The end of the message of each note about a setting with which kustomize does not build a kustomization.
pub const REFUSED: &str = "kustomize refuses to build it";

/// The group of kustomizations in `apiVersion`.
const GROUP: &str = "kustomize.config.k8s.io/";

/// Returns a setting that kustomize refuses, and that adds and changes no objects.
pub(crate) fn refused(span: Span, message: &str) -> Unknown {
    Unknown {
        span,
        message: format!("{message}: {REFUSED}"),
        topic: Topic::Other,
        has_unknown_objects: false,
        may_add_pods: false,
        changes_all: false,
    }
}

/// Returns the fields that kustomize does not decode, and a wrong kind or version. Returns nothing for an object of another
/// API that only has the name of a kustomization.
pub(crate) fn refusals(root: NodeRef<'_>) -> Vec<Unknown> {
    if is_other_object(root) {
        return Vec::new();
    }
    let faults = field_faults(root);
    faults.iter().map(unknown).chain(wrong_kind(root)).collect()
}

/// Returns whether the file contains an object of another API, such as a Kustomization of Flux.
fn is_other_object(root: NodeRef<'_>) -> bool {
    let version = root.get("apiVersion").and_then(NodeRef::text);
    let is_other = version.is_some_and(|version| !version.starts_with(GROUP));
    let is_setting = |entry: Entry<'_>| {
        let key = entry.key.text().unwrap_or_default();
        let is_object = matches!(key, "apiVersion" | "kind" | "metadata" | "spec" | "status");
        !is_object
    };
    is_other && !root.entries().any(is_setting)
}

fn unknown(fault: &FieldFault) -> Unknown {
    let name = &fault.name;
    let message = match &fault.kind {
        FieldFaultKind::Type(expected) => format!("`{name}` of a kustomization is {expected}"),
        FieldFaultKind::Unknown(known) => match most_similar(name, known.iter().copied()) {
            Some(similar) => {
                format!("`{name}` is not a field of a kustomization (did you mean `{similar}`?)")
            }
            None => format!("`{name}` is not a field of a kustomization"),
        },
        FieldFaultKind::OtherCase(field) => {
            return Unknown {
                message: format!("`{name}` is not modelled: kustomize reads it as `{field}`"),
                has_unknown_objects: true,
                may_add_pods: true,
                changes_all: true,
                ..refused(fault.span, "")
            };
        }
    };
    refused(fault.span, &message)
}

/// Reports a kind or a version that is not that of a kustomization.
///
/// Source: kustomize 5.8.2, `EnforceFields` in `api/types/kustomization.go`.
fn wrong_kind(root: NodeRef<'_>) -> Option<Unknown> {
    let value = |key: &str| {
        let value = root.get(key)?;
        let text = value.as_str().filter(|text| !text.is_empty());
        Some((text?, value.span()))
    };
    let kind = value("kind");
    if let Some((kind, span)) = kind
        && !matches!(kind, "Kustomization" | "Component")
    {
        let message = format!("the kind is `{kind}` and not `Kustomization` or `Component`");
        return Some(refused(span, &message));
    }
    let (version, span) = value("apiVersion")?;
    let expected = match kind {
        Some(("Component", _)) => "kustomize.config.k8s.io/v1alpha1",
        _ => "kustomize.config.k8s.io/v1beta1",
    };
    let message = format!("the apiVersion is `{version}` and not `{expected}`");
    (version != expected).then(|| refused(span, &message))
}
