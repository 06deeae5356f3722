//! Does the injection template hand the env to a sidecar?

use crate::context::Context;
use crate::mesh::Version;
use crate::mesh::istio::keys;
use crate::predict::WorkloadPrediction;
use crate::yaml::Span;

use super::super::form::{Place, Writing};
use super::{Refusal, name_span};

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

/// The release in which proxyless templates began to switch the rewrite off themselves.
const PROXYLESS_OPT_OUT: Version = Version::new(1, 12);

/// The env reaches the sidecar only where its template writes `proxyMetadata` out. What stands in
/// a container is merged into what any template makes.
pub(super) const fn needs_metadata(writing: Writing) -> bool {
    matches!(writing.place, Place::Annotation)
}

/// The templates that a pod is injected with.
struct Chosen {
    names: Vec<String>,
    /// Where they are chosen; the name of the workload where that is not in its own file.
    span: Span,
}

pub(super) fn template(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    writing: Writing,
) -> Option<Refusal> {
    let chosen = chosen(context, pod)?;
    let install = context.install(&pod.workload);
    let planes = || install.candidates.iter().chain(&install.cluster);
    let is_custom = |name: &String| {
        let mut customs = planes().flat_map(|one| &one.custom_templates);
        customs.any(|custom| custom.value == *name)
    };
    if let Some(name) = chosen.names.iter().find(|name| is_custom(name)) {
        return needs_metadata(writing).then(|| {
            let said = format!(
                "injection template `{name}` is a custom one, which need not hand `proxyMetadata` \
                 to the sidecar"
            );
            Refusal::new("custom-template", chosen.span, said)
                .with_help("`--form container` works with every template")
        });
    }
    let is_own = |name: &String| OWN.contains(&name.as_str());
    if let Some(name) = chosen.names.iter().find(|name| !is_own(name)) {
        let said = format!("injection template `{name}` is not one of Istio's own");
        let help = "where the mesh has it: `--form container --allow unknown-template`";
        return Some(Refusal::new("unknown-template", chosen.span, said).with_help(help));
    }
    brings_no_sidecar(pod, &chosen)
}

/// Istio's own templates that bring no sidecar.
fn brings_no_sidecar(pod: &WorkloadPrediction<'_>, chosen: &Chosen) -> Option<Refusal> {
    let proxyless = |name: &String| matches!(name.as_str(), "grpc-agent" | "grpc-simple");
    if chosen.names.iter().any(proxyless) {
        let said = "a proxyless template brings no sidecar that would receive the env";
        let release = pod.release.value;
        let old = release.is_some_and(|version| version < PROXYLESS_OPT_OUT);
        return old.then(|| Refusal::new("proxyless-template", chosen.span, said));
    }
    chosen.names.iter().any(|name| name != "sidecar").then(|| {
        let said = "a gateway template does not hand `proxyMetadata` to a sidecar";
        Refusal::new("gateway-template", chosen.span, said)
    })
}

/// The annotation names them, else the installation does; an alias stands for several.
fn chosen(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<Chosen> {
    let install = context.install(&pod.workload);
    let (names, span) = if let Some(entry) = pod.workload.template.annotation(keys::TEMPLATES) {
        let names = entry
            .value
            .text()?
            .split(',')
            .map(|name| name.trim().to_owned());
        (names.collect::<Vec<_>>(), entry.value.span())
    } else {
        let defaults = install.fact(keys::TEMPLATES, |one| one.default_templates.as_ref());
        let names = defaults.map_or_else(|| vec!["sidecar".to_owned()], |fact| fact.value);
        (names, name_span(pod))
    };
    let planes = || install.candidates.iter().chain(&install.cluster);
    let expanded = names.into_iter().flat_map(|name| {
        let mut aliases = planes().flat_map(|one| &one.template_aliases);
        let alias = aliases.find(|alias| alias.value.0 == name);
        alias.map_or_else(|| vec![name], |alias| alias.value.1.clone())
    });
    Some(Chosen {
        names: expanded.collect(),
        span,
    })
}
