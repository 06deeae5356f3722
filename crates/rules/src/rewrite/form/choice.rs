//! The choice of `--form auto`.

use meshprobe_mesh::finding::Certainty;
use meshprobe_mesh::mesh::{Mesh, Version, is_newer_than_proven};
use meshprobe_mesh::settings::{Form, FormChoice};
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rewrite::selected_templates::SelectedTemplates;

/// Why `auto` chooses the form `container`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rewrite) enum ContainerReason {
    /// The release is unknown.
    ReleaseUnknown,
    /// The release is newer than the newest one that the oracle has compared.
    ReleaseNotProven(Version),
    /// A custom injection template may not pass `proxyMetadata` to the sidecar.
    CustomTemplate,
    /// An injection template that is not defined in the tree may not pass `proxyMetadata` to the sidecar.
    UnknownTemplate,
    /// The control plane is a fork, with an injection template of its own that the oracle has not compared.
    Fork,
}

/// The form for a pod that is not rewritten yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rewrite) struct ChosenForm {
    pub(in crate::rewrite) form: Form,
    /// Why `auto` chose `container`; `None` if the user named the form or `auto` chose `annotation`.
    pub(in crate::rewrite) reason: Option<ContainerReason>,
}

impl ChosenForm {
    /// Returns the form that `choice` means for `pod`.
    pub(in crate::rewrite) fn of(
        choice: FormChoice,
        context: &Context<'_>,
        pod: &WorkloadPrediction<'_>,
    ) -> Self {
        if let FormChoice::Fixed(form) = choice {
            return Self { form, reason: None };
        }
        let reason = container_reason(context, pod);
        let form = match reason {
            Some(_) => Form::Container,
            None => Form::Annotation,
        };
        Self { form, reason }
    }
}

fn container_reason(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
) -> Option<ContainerReason> {
    if let Some(templates) = SelectedTemplates::of(context, pod) {
        if templates.custom(context, pod).is_some() {
            return Some(ContainerReason::CustomTemplate);
        }
        if templates.unknown().is_some() {
            return Some(ContainerReason::UnknownTemplate);
        }
    }
    let planes = context.istio(&pod.workload).installation();
    if planes.candidates.iter().any(|plane| plane.is_fork()) {
        return Some(ContainerReason::Fork);
    }
    match pod.release.value {
        Some(release) if pod.release.certainty > Certainty::Unknown => {
            is_newer_than_proven(Mesh::ISTIO, release)
                .then_some(ContainerReason::ReleaseNotProven(release))
        }
        _ => Some(ContainerReason::ReleaseUnknown),
    }
}
