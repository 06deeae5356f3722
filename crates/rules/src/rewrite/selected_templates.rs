//! The injection templates of a pod.

use meshprobe_mesh::mesh::istio::{keys, known_keys};
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::Span;

use crate::rewrite::guard::failure::name_span;

/// The templates that a pod is injected with.
pub(in crate::rewrite) struct SelectedTemplates {
    pub(in crate::rewrite) names: Vec<String>,
    /// Where they are selected; the name of the workload if that is in another file.
    pub(in crate::rewrite) span: Span,
}

impl SelectedTemplates {
    /// Returns the templates that the annotation names, or else those of the installation. An alias represents several.
    pub(in crate::rewrite) fn of(
        context: &Context<'_>,
        pod: &WorkloadPrediction<'_>,
    ) -> Option<Self> {
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
        Some(Self {
            names: expanded.collect(),
            span,
        })
    }

    /// Returns the first template that is not one of Istio's own.
    pub(in crate::rewrite) fn unknown(&self) -> Option<&String> {
        let is_own = |name: &str| known_keys::TEMPLATES.contains(&name);
        self.names.iter().find(|name| !is_own(name))
    }

    /// Returns the first template that an installation defines itself.
    pub(in crate::rewrite) fn custom(
        &self,
        context: &Context<'_>,
        pod: &WorkloadPrediction<'_>,
    ) -> Option<&String> {
        let install = context.istio(&pod.workload).installation();
        let planes = || install.candidates.iter().chain(&install.cluster);
        self.names.iter().find(|name| {
            planes()
                .flat_map(|plane| &plane.custom_templates)
                .any(|custom| custom.value == **name)
        })
    }
}
