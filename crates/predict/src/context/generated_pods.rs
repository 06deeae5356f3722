//! Objects whose pods are neither in the object nor in the tree: another tool deploys them, or an operator generates
//! them.

use meshprobe_mesh::kube::{Object, PodMaker, PodSource, inference_components};
use meshprobe_yaml::Span;

use crate::context::not_judged::{CHECK_CLUSTER, Detail, NotJudged, NotJudgedReason};

/// Describes the pods that `object` causes and that are not judged. `has_pods` states whether pods of the object are
/// judged, and `is_named` whether a part of them is named as not judged.
pub(super) fn generated_pods(
    object: &Object<'_>,
    has_pods: bool,
    is_named: bool,
) -> Option<NotJudged> {
    let maker = PodMaker::of(object.group(), object.kind);
    let title = || format!("{}/{}", object.kind, object.name());
    if maker.is_some_and(|maker| maker.source == PodSource::Deployment) {
        let message = format!("{} deploys what another tool renders", title());
        let reason = NotJudgedReason::OtherDeployment;
        return Some(described(object, reason, object.name_span(), message));
    }
    if is_named {
        return None;
    }
    let reason = NotJudgedReason::GeneratedPod;
    let is_operator = |maker: &&PodMaker| {
        matches!(
            maker.source,
            PodSource::Operator | PodSource::OperatorWithContainers
        )
    };
    if let Some(maker) = maker.filter(is_operator).filter(|_| !has_pods) {
        let metadata = match maker.metadata {
            "" => String::new(),
            field => format!("; `{field}` sets their metadata"),
        };
        let message = format!("the operator of {} generates its pods{metadata}", title());
        return Some(described(object, reason, object.name_span(), message));
    }
    let (component, _) =
        inference_components(object).find(|(_, node)| node.get("containers").is_none())?;
    let message = format!(
        "KServe generates the pods of `spec.{}` of {}",
        component.text().unwrap_or_default(),
        title(),
    );
    Some(described(object, reason, component.span(), message))
}

fn described(
    object: &Object<'_>,
    reason: NotJudgedReason,
    span: Span,
    message: String,
) -> NotJudged {
    NotJudged {
        reason,
        detail: Detail::None,
        place: object.label_at(span, message),
        object: Some(object.reference()),
        help: CHECK_CLUSTER.to_owned(),
    }
}
