//! Consul on Kubernetes: `httpGet` probes target listeners that Consul exposes.
//!
//! Sources, consul-k8s a507b1d1, run:
//! `control-plane/connect-inject/webhook/{mesh_webhook,redirect_traffic}.go`; the registration in
//! `controllers/endpoints/endpoints_controller.go`. The ports are the same from 1.0 to 2.0.

mod definition;
pub mod faults;
mod injection;
mod keys;
mod model;
mod probes;
mod rejection;

pub(super) use definition::DEFINITION;
pub use keys::{CONCURRENCY, OVERWRITE, SERVICE, SERVICE_PORT, STATUS, TRANSPARENT};
pub use rejection::several_services;
