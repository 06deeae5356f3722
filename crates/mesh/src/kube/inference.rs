//! `InferenceService`s of KServe.
//!
//! Source: KServe 0.20.0, `pkg/controller/v1beta1/inferenceservice/components/predictor.go` (`buildObjectMeta`) and
//! `transformer.go`: the labels and annotations of the object are set on its pods, and those of a component take
//! precedence.

use meshprobe_yaml::NodeRef;

use crate::kube::object::Object;
use crate::kube::workload::PodTemplate;

/// The fields of an `InferenceService` that describe pods.
const COMPONENTS: [&str; 3] = ["predictor", "transformer", "explainer"];

/// Iterates over the components of an `InferenceService`, each with its key; none for other objects.
pub fn inference_components<'t>(
    object: &Object<'t>,
) -> impl Iterator<Item = (NodeRef<'t>, NodeRef<'t>)> + use<'t> {
    let is_service = object.group() == "serving.kserve.io" && object.kind == "InferenceService";
    let spec = object.node.get("spec").filter(|_| is_service);
    COMPONENTS
        .into_iter()
        .filter_map(move |key| spec?.entry(key))
        .filter(|entry| entry.value.is_mapping())
        .map(|entry| (entry.key, entry.value))
}

/// Sets the labels and annotations that KServe gives the pods of a component.
pub(super) fn with_component_metadata<'t>(
    template: PodTemplate<'t>,
    object: &Object<'t>,
) -> PodTemplate<'t> {
    let component = template.spec;
    let is_component =
        inference_components(object).any(|(_, node)| node.span() == component.span());
    match is_component {
        true => template.with_metadata(component, object.metadata()),
        false => template,
    }
}
