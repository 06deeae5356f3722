//! Open Service Mesh: releases 1.1 and 1.2, the development head after them, and the faults of earlier
//! releases. The project was archived in July 2023.
//!
//! Sources, of v1.2.4 unless another release is named: `pkg/injector/health_probes.go`,
//! `patch.go`, `webhook.go`, `iptables.go`, and `pkg/envoy/bootstrap/envoy_config_health_probes.go`.

mod definition;
pub(crate) mod envoy;
pub mod faults;
mod injected_pod;
pub mod injection;
mod keys;
mod model;
mod probes;
mod treatment;

pub(super) use definition::DEFINITION;
pub use keys::{HEALTHCHECK_PORT, INJECTION, MONITORED};
pub use probes::Era;
