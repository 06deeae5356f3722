//! Dispatches an object to the reader of its kind.

use crate::kube::Object;

use super::carrier_context::CarrierContext;
use super::installation::Install;
use super::{
    argo, config_map, flux, helm_charts, k3s, maistra, operator, rendered, sail, tag_service,
    webhook_config,
};

/// Returns whether an object may state facts about an installation, or whether such an object may refer to it: a cheap
/// check before [`from_object`].
#[must_use]
pub fn concerns(object: &Object<'_>) -> bool {
    match (object.group(), object.kind) {
        ("install.istio.io" | "sailoperator.io" | "operator.istio.io" | maistra::GROUP, _)
        | ("helm.toolkit.fluxcd.io" | "helm.fluxcd.io" | "source.toolkit.fluxcd.io", _)
        | ("argoproj.io", "Application" | "ApplicationSet")
        | ("helm.cattle.io", "HelmChart" | "HelmChartConfig")
        | ("admissionregistration.k8s.io", "MutatingWebhookConfiguration")
        | ("", "ConfigMap") => true,
        ("", helm_charts::GENERATOR) => true,
        ("", "Service") => tag_service::concerns(object),
        ("apps", "Deployment" | "DaemonSet") => rendered::read(object).is_some(),
        _ => false,
    }
}

/// Reads the facts about an installation from an object: usually none, sometimes several installations
/// (an `Application` with several charts).
#[must_use]
pub fn from_object(object: &Object<'_>, around: &CarrierContext<'_, '_>) -> Vec<Install> {
    match (object.group(), object.kind) {
        ("install.istio.io", "IstioOperator") => operator::read(object).into_iter().collect(),
        ("helm.toolkit.fluxcd.io" | "helm.fluxcd.io", "HelmRelease") => flux::read(object, around),
        ("argoproj.io", "Application" | "ApplicationSet") => argo::read(object, around),
        ("helm.cattle.io", "HelmChart") => k3s::read(object, around),
        ("sailoperator.io" | "operator.istio.io", _) => sail::read(object).into_iter().collect(),
        (maistra::GROUP, _) => maistra::read(object).into_iter().collect(),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => {
            webhook_config::read(object).into_iter().collect()
        }
        ("", "Service") => tag_service::read(object).into_iter().collect(),
        ("", helm_charts::GENERATOR) => helm_charts::from_generator(object, around),
        ("", "ConfigMap") => config_map::read(object).into_iter().collect(),
        ("apps", "Deployment" | "DaemonSet") => rendered::read(object).into_iter().collect(),
        _ => Vec::new(),
    }
}
