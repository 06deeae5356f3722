//! Rule `osm-tcp-probe-accepted`, documented in `docs/rules/osm-tcp-probe-accepted.md`.

use meshprobe_mesh::mesh::Mesh;
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "osm-tcp-probe-accepted", Error, REPORTS }

const REPORTS: &[CauseReport] = &[CauseReport {
    mesh: Mesh::OSM,
    cause: Cause::SidecarAccepts,
    field: None,
    message: |handler| {
        format!(
            "{} always succeeds: the OSM proxy accepts every connection",
            handler.title()
        )
    },
    help: "use `httpGet` or `exec`, or upgrade OSM to 1.1 or later",
}];
