//! Guards of injection templates: the template must pass the prober env to a sidecar.

use crate::context::Context;
use crate::finding::GuardId;
use crate::mesh::Version;
use crate::mesh::istio::keys;
use crate::predict::WorkloadPrediction;
use crate::yaml::Span;

use crate::rewrite::form::rewrite_form::{EnvCarrier, RewriteForm};
use crate::rewrite::guard::failure::{GuardFailure, name_span};

/// Templates of the charts of Istio 1.31 (`manifests/charts/istio-control/istio-discovery/files`).
const OWN: [&str; 8] = [
    "sidecar",
    "gateway",
    "grpc-simple",
    "grpc-agent",
    "waypoint",
    "kube-gateway",
    "agentgateway",
    "agentgateway-waypoint",
];

/// The release in which proxyless templates began to switch off the rewrite.
const PROXYLESS_OPT_OUT: Version = Version::new(1, 12);

/// Returns whether the sidecar gets the env only if its template copies `proxyMetadata`. The injector merges an env in a
/// container into the result of any template.
pub(super) const fn needs_metadata(writing: RewriteForm) -> bool {
    matches!(writing.place, EnvCarrier::Annotation)
}

/// The templates that a pod is injected with.
struct SelectedTemplates {
    names: Vec<String>,
    /// Where they are selected; the name of the workload if that is in another file.
    span: Span,
}

pub(super) fn template(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    writing: RewriteForm,
) -> Option<GuardFailure> {
    let selected = selected(context, pod)?;
    let install = context.istio(&pod.workload).installation();
    let planes = || install.candidates.iter().chain(&install.cluster);
    let is_custom = |name: &String| {
        planes()
            .flat_map(|plane| &plane.custom_templates)
            .any(|custom| custom.value == *name)
    };
    if let Some(name) = selected.names.iter().find(|name| is_custom(name)) {
        return needs_metadata(writing).then(|| {
            let message = format!(
                "injection template `{name}` is a custom template, which may not pass \
                 `proxyMetadata` to the sidecar"
            );
            GuardFailure::new(GuardId::CUSTOM_TEMPLATE, selected.span, message)
                .with_help("`--form container` works with every template")
        });
    }
    let is_own = |name: &String| OWN.contains(&name.as_str());
    if let Some(name) = selected.names.iter().find(|name| !is_own(name)) {
        let message = format!("injection template `{name}` is not one of Istio's own");
        let help = "if the mesh has this template, use `--form container --allow unknown-template`";
        return Some(
            GuardFailure::new(GuardId::UNKNOWN_TEMPLATE, selected.span, message).with_help(help),
        );
    }
    without_sidecar(pod, &selected)
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
        return is_old
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

/// Returns the templates that the annotation names, or else those of the installation. An alias represents several.
fn selected(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<SelectedTemplates> {
    let install = context.istio(&pod.workload).installation();
    let (names, span) = if let Some(entry) = pod.workload.template.annotation(keys::TEMPLATES) {
        let names = entry
            .value
            .text()?
            .split(',')
            .map(|name| name.trim().to_owned());
        (names.collect::<Vec<_>>(), entry.value.span())
    } else {
        let defaults = install.fact(keys::TEMPLATES, |plane| plane.default_templates.as_ref());
        let names = defaults.map_or_else(|| vec!["sidecar".to_owned()], |fact| fact.value);
        (names, name_span(pod))
    };
    let planes = || install.candidates.iter().chain(&install.cluster);
    let expanded = names.into_iter().flat_map(|name| {
        let alias = planes()
            .flat_map(|plane| &plane.template_aliases)
            .find(|alias| alias.value.0 == name);
        alias.map_or_else(|| vec![name], |alias| alias.value.1.clone())
    });
    Some(SelectedTemplates {
        names: expanded.collect(),
        span,
    })
}
