//! Where a GitOps tree says how Istio is installed, and what it says.
//!
//! One file per carrier, each a function from an object or a file to [`Install`]s: plain data,
//! every item with the line it comes from. What the tree does not say stays `None`; defaults and
//! the choice between control planes are the business of `context`.

mod argo;
mod chart;
mod config_map;
mod flux;
mod installation;
mod istiod;
mod layer;
mod operator;
mod release;
mod rendered;
mod sail;
mod surroundings;
mod values;
mod values_file;
mod version;
mod webhooks;

use crate::kube::Object;

pub use installation::{EnablementSelector, Install, NativeSidecars};
pub use surroundings::{PlainFile, Surroundings};
pub use values_file::from_values_file;
pub use version::{version_of_image, version_of_revision};
pub use webhooks::Webhook;

/// The kind of object or file that states facts about an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Carrier {
    /// `IstioOperator` of `install.istio.io`.
    IstioOperator,
    /// A values file of Istio's charts, or of a chart that depends on them.
    HelmValues,
    /// Flux's `HelmRelease`.
    HelmRelease,
    /// Argo CD's `Application` or `ApplicationSet`.
    Application,
    /// `Istio`, `IstioRevision`, `IstioRevisionTag`, `IstioCNI` or `ZTunnel` of the Sail operator.
    Sail,
    /// ConfigMap `istio`: the mesh configuration.
    MeshConfigMap,
    /// ConfigMap `istio-sidecar-injector`.
    InjectorConfigMap,
    /// `MutatingWebhookConfiguration` of the injector.
    Webhooks,
    /// What a chart is rendered to: the Deployment of istiod, ConfigMap and DaemonSet of the CNI
    /// plugin.
    Rendered,
}

/// How much of an installation a carrier describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A whole control plane.
    ControlPlane,
    /// Something that belongs to the control plane of the revision.
    OfRevision,
    /// Tags that are set on the control plane which another object makes.
    Tags {
        /// The kind of that object.
        kind: String,
        /// Its name.
        name: String,
    },
    /// What serves all control planes of a cluster: CNI plugin, ztunnel, the base chart.
    Cluster,
}

/// Tells whether an object may state something of an installation, or be referred to by one that
/// does: a cheap test before [`from_object`].
#[must_use]
pub fn concerns(object: &Object<'_>) -> bool {
    match (object.group(), object.kind) {
        ("install.istio.io" | "sailoperator.io" | "operator.istio.io", _)
        | ("helm.toolkit.fluxcd.io" | "helm.fluxcd.io" | "source.toolkit.fluxcd.io", _)
        | ("argoproj.io", "Application" | "ApplicationSet")
        | ("admissionregistration.k8s.io", "MutatingWebhookConfiguration")
        | ("", "ConfigMap") => true,
        ("apps", "Deployment" | "DaemonSet") => rendered::read(object).is_some(),
        _ => false,
    }
}

/// Reads what an object says about an installation: mostly nothing, sometimes several things
/// (an `Application` with several charts).
#[must_use]
pub fn from_object(object: &Object<'_>, around: &Surroundings<'_, '_>) -> Vec<Install> {
    match (object.group(), object.kind) {
        ("install.istio.io", "IstioOperator") => operator::read(object).into_iter().collect(),
        ("helm.toolkit.fluxcd.io" | "helm.fluxcd.io", "HelmRelease") => flux::read(object, around),
        ("argoproj.io", "Application" | "ApplicationSet") => argo::read(object, around),
        ("sailoperator.io" | "operator.istio.io", _) => sail::read(object).into_iter().collect(),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => {
            webhooks::read(object).into_iter().collect()
        }
        ("", "ConfigMap") => config_map::read(object).into_iter().collect(),
        ("apps", "Deployment" | "DaemonSet") => rendered::read(object).into_iter().collect(),
        _ => Vec::new(),
    }
}
