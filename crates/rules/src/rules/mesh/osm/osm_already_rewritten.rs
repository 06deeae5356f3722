//! Rule `osm-already-rewritten`, documented in `docs/rules/osm-already-rewritten.md`.

use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::osm::{HEALTHCHECK_PORT, faults};
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "osm-already-rewritten", Error, REPORTS }

const HELP: &str = "set the port and path of the application; OSM rewrites them at admission";

const REPORTS: &[CauseReport] = &[
    CauseReport {
        mesh: Mesh::OSM,
        cause: Cause::Other(&faults::TARGETS_ITSELF),
        field: Some("port"),
        message: |handler| {
            let why = match handler.port {
                Some(HEALTHCHECK_PORT) => {
                    "OSM redirects it to the proxy and adds no helper that responds"
                }
                _ => "OSM records it as the original, so the proxy sends requests to itself",
            };
            format!("{} is already rewritten: {why}", handler.title())
        },
        help: HELP,
    },
    CauseReport {
        mesh: Mesh::OSM,
        cause: Cause::Other(&faults::WITHOUT_PROXY),
        field: Some("port"),
        message: |handler| {
            format!(
                "{} targets the OSM proxy, which this pod does not have",
                handler.title()
            )
        },
        help: HELP,
    },
];
