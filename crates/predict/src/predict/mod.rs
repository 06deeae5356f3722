//! Predicts what the mesh does to each probe handler, and the result that the kubelet gets.
//!
//! The outcomes were measured with Istio 1.31, Envoy 1.40 and the prober of Kubernetes 1.36. `docs/prediction.md`
//! describes the order of decisions.

mod alternatives;
mod cause;
mod environment_names;
mod go_url;
mod handlers;
mod invalid_handler;
mod istio;
mod model;
mod outcome;
mod pod_security;
mod port_owner;
mod ports;
mod prediction;
mod release_support;
mod rival_meshes;
mod route;
mod single;
mod url_path;
mod verdict_builder;
mod vm;
mod words;
mod workloads;

pub use crate::predict::alternatives::evaluate::{Alternative, alternatives, evident_alternatives};
pub use crate::predict::istio::prober_env_fault::ProberEnvFault;
pub use crate::predict::istio::protocol::{UnsupportedProtocol, unsupported_protocol};
pub use crate::predict::istio::rewrite_blocker::{
    RewriteBlocker, rewrite_blocker, rewrite_blockers, unrecorded_field,
};
pub use crate::predict::port_owner::port_owner;
pub use crate::predict::vm::{
    MachinePrediction, SidecarPort, machines, other_host, sidecar_port, unknown_release, verified,
};
pub use cause::Cause;
pub use environment_names::EnvironmentNames;
pub use handlers::predicted_handlers;
pub use meshprobe_mesh::mesh::ProbeFault;
pub use outcome::Outcome;
pub use pod_security::sets_host;
pub use ports::port_of;
pub use prediction::assumptions;
pub use prediction::{
    HandlerPrediction, RewrittenHandler, UnsupportedByRelease, Verdict, WorkloadPrediction,
};
pub use rival_meshes::{how_to_judge_for_rivals, injecting_meshes};
pub use route::{Hop, HopKind, HopState, RouteFacts};
pub use single::predict_with;
pub use url_path::PathMisread;
pub use words::{
    handler_text, handler_title, is_quoted_number, port_node_text, port_text, rewritten_text,
};
pub use workloads::{predict_again, predict_all, predict_workload, sort_by_place, view_by_place};
