//! Rule `osm-probe-without-endpoint`, documented in `docs/rules/osm-probe-without-endpoint.md`.

use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::osm::faults;
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "osm-probe-without-endpoint", Error, REPORTS }

const HELP: &str =
    "recreate the pod from its original manifest; `predict --explain` shows what is expected";

const REPORTS: &[CauseReport] = &[
    CauseReport {
        mesh: Mesh::OSM,
        cause: Cause::Other(&faults::NO_LISTENER),
        field: Some("port"),
        message: |handler| {
            format!(
                "{} targets the proxy, which has no listener for it",
                handler.title()
            )
        },
        help: HELP,
    },
    CauseReport {
        mesh: Mesh::OSM,
        cause: Cause::Other(&faults::NO_HELPER),
        field: Some("port"),
        message: |handler| {
            format!(
                "{} targets the helper, which is missing or does not receive the port",
                handler.title()
            )
        },
        help: HELP,
    },
];
