//! Rule `osm-tcp-host-lost`, documented in `docs/rules/osm-tcp-host-lost.md`.

use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::osm::faults;
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "osm-tcp-host-lost", Warning, REPORTS }

const REPORTS: &[CauseReport] = &[CauseReport {
    mesh: Mesh::OSM,
    cause: Cause::Other(&faults::HOST_LOST),
    field: Some("host"),
    message: |handler| {
        format!(
            "{} checks the pod itself: OSM drops `host` of a `tcpSocket`",
            handler.title()
        )
    },
    help: "remove `host` if the probe is for the pod itself, otherwise use `exec`",
}];
