//! Rule `osm-probe-not-changed`, documented in `docs/rules/osm-probe-not-changed.md`.

use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::osm::faults;
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "osm-probe-not-changed", Error, REPORTS }

const REPORTS: &[CauseReport] = &[CauseReport {
    mesh: Mesh::OSM,
    cause: Cause::Other(&faults::NOT_CHANGED),
    field: Some("port"),
    message: |handler| {
        format!(
            "{} fails: OSM did not rewrite it, and the port requires mutual TLS",
            handler.title()
        )
    },
    help: "recreate the pod from its original manifest, so that the webhook processes the probe",
}];
