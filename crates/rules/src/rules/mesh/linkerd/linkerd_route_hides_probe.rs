//! Rule `linkerd-route-hides-probe`, documented in `docs/rules/linkerd-route-hides-probe.md`.

use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::linkerd::faults;
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "linkerd-route-hides-probe", Error, REPORTS }

const REPORTS: &[CauseReport] = &[CauseReport {
    mesh: Mesh::LINKERD,
    cause: Cause::Other(&faults::ROUTE_HIDES_PROBE),
    field: None,
    message: |handler| {
        format!(
            "{} is denied: the Server has an HTTPRoute, so Linkerd creates no route for probes",
            handler.title()
        )
    },
    help: "add an HTTPRoute for the path of the probe, with an AuthorizationPolicy that requires no \
           certificate",
}];
