//! Rule `osm-https-collision`, documented in `docs/rules/osm-https-collision.md`.

use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::osm::faults;
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "osm-https-collision", Error, REPORTS }

const HELP: &str = "replace one of the probes with an `exec` probe that targets 127.0.0.1";

const REPORTS: &[CauseReport] = &[
    CauseReport {
        mesh: Mesh::OSM,
        cause: Cause::Other(&faults::TLS_ANSWERED_BY_OTHER),
        field: None,
        message: |handler| {
            format!(
                "{} shares a listener with the HTTPS probe of another container; OSM forwards \
                 only one HTTPS probe per kind",
                handler.title()
            )
        },
        help: HELP,
    },
    CauseReport {
        mesh: Mesh::OSM,
        cause: Cause::Other(&faults::TLS_MIXED),
        field: None,
        message: |handler| {
            format!(
                "{} shares a listener with a probe of the other scheme; OSM forwards only one \
                 HTTPS probe per kind",
                handler.title()
            )
        },
        help: HELP,
    },
];
