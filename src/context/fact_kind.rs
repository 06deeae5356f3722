//! Decides from the API group and the kind of an object which facts it can state.
//!
//! The inventory and the rendering of kustomizations both use it, so that they know the same kinds. Each mesh adds its kinds in `mesh::signs`.

use crate::kube::{may_bring_pods, runs_pods};
use crate::mesh::signs;

/// What objects of a kind may be to the inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FactKind {
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
    /// A `WorkloadGroup` of Istio.
    WorkloadGroup,
    /// A `WorkloadEntry` of Istio.
    WorkloadEntry,
    /// An object of `authentication.istio.io`.
    LegacyPolicy,
    /// It may be an object of another mesh: its content decides.
    OfMesh,
    /// The definition of objects, which shows an installation if they are of a mesh.
    Definition,
    /// It runs pods.
    Workload,
    /// It may bring pods that are in no manifest.
    Maker,
}

impl FactKind {
    /// Returns what objects of this kind may be; `None` for those that count only if they hold a pod
    /// template.
    pub(super) fn of(group: &str, kind: &str) -> Option<Self> {
        Some(match (group, kind) {
            ("", "Namespace") => Self::Namespace,
            ("", "Service") => Self::Service,
            ("security.istio.io", "PeerAuthentication") => Self::PeerAuthentication,
            ("security.istio.io", "AuthorizationPolicy") => Self::AuthorizationPolicy,
            ("networking.k8s.io", "NetworkPolicy") => Self::NetworkPolicy,
            ("networking.istio.io", "Sidecar") => Self::Sidecar,
            ("networking.istio.io", "EnvoyFilter") => Self::EnvoyFilter,
            ("networking.istio.io", "WorkloadGroup") => Self::WorkloadGroup,
            ("networking.istio.io", "WorkloadEntry") => Self::WorkloadEntry,
            ("authentication.istio.io", _) => Self::LegacyPolicy,
            (_, signs::DEFINITION) => Self::Definition,
            _ if signs::may_be_fact(group, kind) => Self::OfMesh,
            _ if runs_pods(group, kind) => Self::Workload,
            _ if may_bring_pods(group, kind) => Self::Maker,
            _ => return None,
        })
    }
}
