//! Dispatches an object to the reader of its kind.

use crate::kube::Object;

use super::installation::Install;
use super::{config_map, maistra, operator, rendered, sail, webhook_config};

/// The kind of the plugin of kustomize that renders a chart, with the apiVersion `builtin`.
pub const GENERATOR: &str = "HelmChartInflationGenerator";

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
        ("", GENERATOR) => true,
        ("", "Service") => webhook_config::concerns_service(object),
        ("apps", "Deployment" | "DaemonSet") => rendered::read(object).is_some(),
        _ => false,
    }
}

/// Reads the facts about an installation from an object. A release of a chart has its own reader.
#[must_use]
pub fn from_object(object: &Object<'_>) -> Option<Install> {
    match (object.group(), object.kind) {
        ("install.istio.io", "IstioOperator") => operator::read(object),
        ("sailoperator.io" | "operator.istio.io", _) => sail::read(object),
        (maistra::GROUP, _) => maistra::read(object),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => {
            webhook_config::read(object)
        }
        ("", "Service") => webhook_config::read_service(object),
        ("", "ConfigMap") => config_map::read(object),
        ("apps", "Deployment" | "DaemonSet") => rendered::read(object),
        _ => None,
    }
}
