//! Rule `osm-lifecycle-http`, documented in `docs/rules/osm-lifecycle-http.md`.

use meshprobe_mesh::mesh::{Mesh, shared_faults};
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "osm-lifecycle-http", Warning, REPORTS }

const REPORTS: &[CauseReport] = &[CauseReport {
    mesh: Mesh::OSM,
    cause: Cause::Other(&shared_faults::HOOK_AT_MTLS),
    field: None,
    message: |handler| {
        format!(
            "{} fails: OSM does not rewrite hooks, and the port requires mutual TLS",
            handler.title()
        )
    },
    help: "use `exec`, or exclude the port from capture",
}];
