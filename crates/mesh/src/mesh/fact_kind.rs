//! Decides from the API group and the kind of an object which facts it can state.
//!
//! The inventory and the rendering of kustomizations both use it, so that they know the same kinds. Each mesh
//! declares its kinds in its `MeshMarkers`.

use crate::kube::{may_create_pods, runs_pods};
use crate::mesh::detect;

/// The kind of fact that an object may state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactKind {
    /// A `v1` Namespace.
    Namespace,
    /// A `v1` Service.
    Service,
    /// A `PeerAuthentication` of Istio.
    PeerAuthentication,
    /// An `AuthorizationPolicy` of Istio.
    AuthorizationPolicy,
    /// A `NetworkPolicy` of Kubernetes.
    NetworkPolicy,
    /// A `Sidecar` of Istio.
    Sidecar,
    /// An `EnvoyFilter` of Istio.
    EnvoyFilter,
    /// A `ProxyConfig` of Istio.
    ProxyConfig,
    /// A `WorkloadGroup` of Istio.
    WorkloadGroup,
    /// A `WorkloadEntry` of Istio.
    WorkloadEntry,
    /// An object of `authentication.istio.io`.
    LegacyPolicy,
    /// An object that states the network plugin of the cluster.
    NetworkPlugin,
    /// A policy of a network plugin, which is not evaluated. Those of Cilium are [`Self::OfMesh`].
    PluginPolicy,
    /// A `SecurityGroupPolicy` of the AWS VPC CNI.
    SecurityGroupPolicy,
    /// It may be an object of another mesh; its content decides.
    OfMesh,
    /// A definition of objects. It shows an installation if the objects belong to a mesh.
    Definition,
    /// It runs pods.
    Workload,
    /// It may create pods that are not in the manifests.
    Maker,
}

impl FactKind {
    /// Returns the kind of fact that an object may state. `None` for objects that matter only if they
    /// have a pod template.
    pub fn of(group: &str, kind: &str) -> Option<Self> {
        Some(match (group, kind) {
            ("", "Namespace") => Self::Namespace,
            ("", "Service") => Self::Service,
            ("security.istio.io", "PeerAuthentication") => Self::PeerAuthentication,
            ("security.istio.io", "AuthorizationPolicy") => Self::AuthorizationPolicy,
            ("networking.k8s.io", "NetworkPolicy") => Self::NetworkPolicy,
            ("networking.istio.io", "Sidecar") => Self::Sidecar,
            ("networking.istio.io", "EnvoyFilter") => Self::EnvoyFilter,
            ("networking.istio.io", "ProxyConfig") => Self::ProxyConfig,
            ("networking.istio.io", "WorkloadGroup") => Self::WorkloadGroup,
            ("networking.istio.io", "WorkloadEntry") => Self::WorkloadEntry,
            ("authentication.istio.io", _) => Self::LegacyPolicy,
            ("operator.openshift.io", "Network") | ("operator.tigera.io", "Installation") => {
                Self::NetworkPlugin
            }
            ("crd.projectcalico.org" | "projectcalico.org", "FelixConfiguration") => {
                Self::NetworkPlugin
            }
            ("vpcresources.k8s.aws", "SecurityGroupPolicy") => Self::SecurityGroupPolicy,
            (_, detect::DEFINITION) => Self::Definition,
            _ if detect::may_be_fact(group, kind) => Self::OfMesh,
            _ if is_plugin_policy(group, kind) => Self::PluginPolicy,
            _ if runs_pods(group, kind) => Self::Workload,
            _ if may_create_pods(group, kind) => Self::Maker,
            _ => return None,
        })
    }
}

/// Returns whether an object is a policy of a network plugin that may drop packets to pods.
pub fn is_plugin_policy(group: &str, kind: &str) -> bool {
    match group {
        "cilium.io" => matches!(
            kind,
            "CiliumNetworkPolicy" | "CiliumClusterwideNetworkPolicy"
        ),
        "crd.projectcalico.org" | "projectcalico.org" => {
            matches!(kind, "NetworkPolicy" | "GlobalNetworkPolicy")
        }
        "policy.networking.k8s.io" => matches!(
            kind,
            "AdminNetworkPolicy" | "BaselineAdminNetworkPolicy" | "ClusterNetworkPolicy"
        ),
        _ => false,
    }
}
