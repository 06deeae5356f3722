//! Linkerd: it does not change probes. They go through its proxy, which has a policy for each port.
//!
//! Sources, linkerd2 b24cd405, read: `policy-controller/k8s/index/src/inbound/{index,workload}.rs`
//! (the routes that are created for probes; pull request 9008, since 2.12. In 2.11, probes are rejected
//! like all other requests: issues 7050, 7143), `pkg/inject/inject.go` (the ports of a pod) and
//! `pkg/inject/report.go` and `pkg/healthcheck/sidecar.go` (which pods are injected, edge-26.8.3, run); the
//! documentation, "Authorization Policy". Nothing else was run.

mod definition;
pub mod faults;
mod injection;
mod keys;
mod model;
mod native;
mod policy;
mod route;
mod treatment;

pub(super) use definition::DEFINITION;
