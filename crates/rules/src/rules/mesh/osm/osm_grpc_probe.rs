//! Rule `osm-grpc-probe`, documented in `docs/rules/osm-grpc-probe.md`.

use meshprobe_mesh::mesh::{Mesh, shared_faults};
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "osm-grpc-probe", Error, REPORTS }

const REPORTS: &[CauseReport] = &[CauseReport {
    mesh: Mesh::OSM,
    cause: Cause::Other(&shared_faults::GRPC_AT_MTLS),
    field: None,
    message: |handler| {
        format!(
            "{} fails: OSM does not rewrite gRPC probes, and the port requires mutual TLS",
            handler.title()
        )
    },
    help: "use `exec` with grpc_health_probe against 127.0.0.1, or exclude the port from capture",
}];
