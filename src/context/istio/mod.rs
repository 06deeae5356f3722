//! The facts of Istio for a workload or a policy.

pub(super) mod facets;

pub use facets::{
    AuthorizationFacts, ControlPlanes, Injection, Istio, IstioNear, IstioPolicy,
    PeerAuthentications, Ports, Rewriting, Startup,
};
