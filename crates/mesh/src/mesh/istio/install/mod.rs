//! Reads how a GitOps tree installs Istio.
//!
//! One file per carrier, each a function from an object or a file to [`Install`]s: plain data in which
//! every item has the line it comes from. Facts that the tree does not contain are `None`; `context` adds defaults and
//! chooses between control planes.
//!
//! Dispatches an object to the reader of its kind.

mod chart;
mod installation;
mod istiod;
mod operators;
mod release;
mod rendered;
mod values;
mod version;

use crate::kube::Object;

pub use chart::{PlainFile, installs_mesh, is_gateway_chart};
pub use installation::{Carrier, EnablementSelector, Install, NativeSidecars, Part, Webhook};
pub use operators::{MEMBER_OF, states_members};
pub use release::{
    ChartRelease, FILLED_IN, FoundChart, ReleaseValues, ValuesText, from_values_file,
    has_only_istio_charts, meshes_of_chart, meshes_of_release, of_kustomization, of_object,
};
pub use values::Place;
pub use version::{version_of_image, version_of_revision};

/// The kind of the plugin of kustomize that renders a chart, with the apiVersion `builtin`.
pub const GENERATOR: &str = "HelmChartInflationGenerator";

/// Returns whether an object may state facts about an installation, or whether such an object may refer to it: a cheap
/// check before [`from_object`].
#[must_use]
pub fn concerns(object: &Object<'_>) -> bool {
    match (object.group(), object.kind) {
        ("install.istio.io" | "sailoperator.io" | "operator.istio.io" | operators::GROUP, _)
        | ("helm.toolkit.fluxcd.io" | "helm.fluxcd.io" | "source.toolkit.fluxcd.io", _)
        | ("argoproj.io", "Application" | "ApplicationSet")
        | ("helm.cattle.io", "HelmChart" | "HelmChartConfig")
        | ("admissionregistration.k8s.io", "MutatingWebhookConfiguration")
        | ("", "ConfigMap") => true,
        ("", GENERATOR) => true,
        ("", "Service") => rendered::concerns_service(object),
        ("apps", "Deployment" | "DaemonSet") => rendered::read_workload(object).is_some(),
        _ => false,
    }
}

/// Reads the facts about an installation from an object. A release of a chart has its own reader.
#[must_use]
pub fn from_object(object: &Object<'_>) -> Option<Install> {
    match (object.group(), object.kind) {
        ("install.istio.io", "IstioOperator") => operators::read_operator(object),
        ("sailoperator.io" | "operator.istio.io", _) => operators::read_sail(object),
        (operators::GROUP, _) => operators::read_maistra(object),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => {
            rendered::read_webhook(object)
        }
        ("", "Service") => rendered::read_service(object),
        ("", "ConfigMap") => rendered::read_config_map(object),
        ("apps", "Deployment" | "DaemonSet") => rendered::read_workload(object),
        _ => None,
    }
}
