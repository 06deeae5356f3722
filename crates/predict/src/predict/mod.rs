//! Predicts what the mesh does to each probe handler, and the result that the kubelet gets.
//!
//! The outcomes were measured with Istio 1.31, Envoy 1.40 and the prober of Kubernetes 1.36. `docs/prediction.md`
//! describes the order of decisions.

mod alternatives;
mod cause;
mod environment_names;
mod go_url;
mod istio;
mod model;
mod prediction;
mod route;
mod single;
mod vm;
mod workloads;

pub use alternatives::{Alternative, alternatives, evident_alternatives};
pub use cause::{Cause, Outcome};
pub use environment_names::EnvironmentNames;
pub use go_url::PathMisread;
pub use istio::agent::{UnsupportedProtocol, unsupported_protocol};
pub use istio::rewrite_blocker::{
    RewriteBlocker, rewrite_blocker, rewrite_blockers, unrecorded_field,
};
pub use meshprobe_mesh::mesh::ProbeFault;
pub use model::port_of;
pub use prediction::{
    HandlerPrediction, ProberEnvFault, RewrittenHandler, UnsupportedByRelease, Verdict,
    WorkloadPrediction, assumptions, handler_text, handler_title, how_to_judge_for_rivals,
    injecting_meshes, is_quoted_number, port_node_text, port_owner, port_text, rewritten_text,
};
pub use route::{Hop, HopKind, HopState, RouteFacts};
pub use single::{predict_with, predicted_handlers, sets_host};
pub use vm::{
    MachinePrediction, SidecarPort, machines, other_host, sidecar_port, unknown_release, verified,
};
pub use workloads::{predict_all, predict_workload, sort_by_place};
