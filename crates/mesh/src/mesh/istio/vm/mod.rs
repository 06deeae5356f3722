//! Virtual machines: the health check of a `WorkloadGroup`.
//!
//! Four programs read it, each in its own way: the API server applies the schema of the definition,
//! istiod's webhook (and `istioctl validate`) its validation, `istioctl x workload entry
//! configure` neither, and the agent on the machine runs the checks.
//!
//! Source: Istio's development head of August 2026, `pkg/config/validation/validation.go`,
//! `istioctl/pkg/workload/workload.go`, `pkg/istio-agent/health`; the order of the fields is that
//! of `networking/v1alpha3/workload_group.proto` (istio.io/api 1.31).

mod fault;
mod mesh_config;
mod probe;

use crate::mesh::Version;

pub use fault::{Fault, FaultKind, find_faults};
pub use mesh_config::{MeshConfig, annotated_probes, annotated_status_port, mesh_yaml};
pub use probe::{Method, kept, placeholder_value, read};

/// Annotation of a `WorkloadEntry` that enables its health checks; auto-registered ones have it
/// (`pilot/pkg/autoregistration/controller.go`).
pub const HEALTH_CHECKS_ENABLED: &str = "proxy.istio.io/health-checks-enabled";

/// The release since which the agent verifies the certificate of an HTTPS check: `health_check.go`
/// converts the scheme to lower case, `health_probers.go` compares it with `HTTPS`.
pub const HTTPS_VERIFIED_SINCE: Version = Version::new(1, 24);

/// The number of failed checks after which the agent treats the machine as unhealthy, unless the probe sets
/// another; the kubelet waits for three (`health_check.go`, `fillInDefaults`).
pub const DEFAULT_FAILURE_THRESHOLD: i64 = 1;

/// Returns what the sidecar of a machine uses a port for; `None` if the port belongs to the application.
/// `agent` is the port of the agent's status server.
#[must_use]
pub fn own_port(port: i64, agent: i64) -> Option<&'static str> {
    let agent = (port == agent).then_some("its agent");
    agent.or_else(|| super::capture::sidecar_port(port))
}
