//! Guards of injection templates: the template must pass the prober env to a sidecar.

use meshprobe_mesh::finding::GuardId;
use meshprobe_mesh::mesh::{Mesh, Version, is_newer_than_proven};
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rewrite::form::rewrite_form::{EnvCarrier, RewriteForm};
use crate::rewrite::guard::failure::{GuardFailure, name_span};
use crate::rewrite::selected_templates::SelectedTemplates;

/// The release in which proxyless templates began to switch off the rewrite.
const PROXYLESS_OPT_OUT: Version = Version::new(1, 12);

/// Returns whether the sidecar gets the env only if its template copies `proxyMetadata`. The injector merges an env in a
/// container into the result of any template.
pub(super) const fn needs_metadata(writing: RewriteForm) -> bool {
    matches!(writing.place, EnvCarrier::Annotation)
}

pub(super) fn template(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    writing: RewriteForm,
) -> Option<GuardFailure> {
    let selected = SelectedTemplates::of(context, pod)?;
    if let Some(name) = selected.custom(context, pod) {
        return needs_metadata(writing).then(|| {
            let message = format!(
                "injection template `{name}` is a custom template, which may not pass \
                 `proxyMetadata` to the sidecar"
            );
            GuardFailure::new(GuardId::CUSTOM_TEMPLATE, selected.span, message)
                .with_help("`--form container` works with every template")
        });
    }
    if let Some(name) = selected.unknown() {
        let message = format!("injection template `{name}` is not one of Istio's own");
        let help = if needs_metadata(writing) {
            "if the mesh has this template, use `--form container --allow unknown-template`"
        } else {
            "if the mesh has this template, use `--allow unknown-template`"
        };
        return Some(
            GuardFailure::new(GuardId::UNKNOWN_TEMPLATE, selected.span, message).with_help(help),
        );
    }
    without_sidecar(pod, &selected)
}

/// Refuses the annotation form for a release that no oracle has compared: its template may no longer pass
/// `proxyMetadata` on unescaped.
pub(super) fn not_proven(
    pod: &WorkloadPrediction<'_>,
    writing: RewriteForm,
) -> Option<GuardFailure> {
    let release = pod.release.value.filter(|_| needs_metadata(writing))?;
    is_newer_than_proven(Mesh::ISTIO, release).then(|| {
        let message = format!(
            "Istio {release} is newer than every release that was compared with meshprobe; its \
             injection template may read `proxyMetadata` differently"
        );
        let help =
            "use `--form container`, or `--allow release-not-proven` after a test in a cluster";
        GuardFailure::new(GuardId::RELEASE_NOT_PROVEN, name_span(pod), message).with_help(help)
    })
}

/// Refuses those of Istio's own templates that add no sidecar.
fn without_sidecar(
    pod: &WorkloadPrediction<'_>,
    selected: &SelectedTemplates,
) -> Option<GuardFailure> {
    let is_proxyless = |name: &String| matches!(name.as_str(), "grpc-agent" | "grpc-simple");
    if selected.names.iter().any(is_proxyless) {
        let message = "a proxyless template adds no sidecar that could receive the env";
        let release = pod.release.value;
        let is_old = release.is_some_and(|version| version < PROXYLESS_OPT_OUT);
        return (is_old || pod.rewrite.value)
            .then(|| GuardFailure::new(GuardId::PROXYLESS_TEMPLATE, selected.span, message));
    }
    selected
        .names
        .iter()
        .any(|name| name != "sidecar")
        .then(|| {
            let message = "a gateway template does not pass `proxyMetadata` to a sidecar";
            GuardFailure::new(GuardId::GATEWAY_TEMPLATE, selected.span, message)
        })
}
