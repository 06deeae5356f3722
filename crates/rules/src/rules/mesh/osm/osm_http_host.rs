//! Rule `osm-http-host`, documented in `docs/rules/osm-http-host.md`.

use meshprobe_mesh::mesh::{Mesh, shared_faults};
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "osm-http-host", Warning, REPORTS }

const REPORTS: &[CauseReport] = &[CauseReport {
    mesh: Mesh::OSM,
    cause: Cause::Other(&shared_faults::HOST_KEPT),
    field: Some("host"),
    message: |handler| {
        let port = handler
            .rewritten_to
            .as_ref()
            .map_or(0, |rewritten_to| rewritten_to.port);
        format!(
            "{} targets port {port} of its `host`, where no part of the pod listens",
            handler.title()
        )
    },
    help: "remove `host`; to send a host name to the application, set the header `Host`",
}];
