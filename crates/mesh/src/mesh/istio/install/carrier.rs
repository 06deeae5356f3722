//! The objects and files that state facts about an installation.

/// The kind of object or file that states facts about an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Carrier {
    /// `IstioOperator` of `install.istio.io`.
    IstioOperator,
    /// A values file of Istio's charts, or of a chart that depends on them.
    HelmValues,
    /// Flux's `HelmRelease`.
    HelmRelease,
    /// `HelmChart` of k3s and RKE2.
    HelmChart,
    /// A kustomization with charts.
    Kustomization,
    /// Argo CD's `Application` or `ApplicationSet`.
    Application,
    /// `Istio`, `IstioRevision`, `IstioRevisionTag`, `IstioCNI` or `ZTunnel` of the Sail operator.
    Sail,
    /// `ServiceMeshControlPlane` of OpenShift Service Mesh 2.
    Maistra,
    /// `ServiceMeshMemberRoll` or `ServiceMeshMember` of OpenShift Service Mesh 2.
    MaistraMembers,
    /// ConfigMap `istio`: the mesh configuration.
    MeshConfigMap,
    /// ConfigMap `istio-sidecar-injector`.
    InjectorConfigMap,
    /// `MutatingWebhookConfiguration` of the injector.
    Webhooks,
    /// Rendered objects of a chart: the Deployment of istiod, ConfigMap and DaemonSet of the CNI
    /// plugin.
    Rendered,
}

/// The part of an installation that a carrier describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A whole control plane.
    ControlPlane,
    /// Something that belongs to the control plane of the revision.
    OfRevision,
    /// Tags that are set on the control plane that another object creates.
    Tags {
        /// The kind of that object.
        kind: String,
        /// Its name.
        name: String,
    },
    /// Components that serve all control planes of a cluster: CNI plugin, ztunnel, the base chart.
    Cluster,
    /// The network plugin of a cluster, which does not show that the cluster has a mesh.
    Network,
}
