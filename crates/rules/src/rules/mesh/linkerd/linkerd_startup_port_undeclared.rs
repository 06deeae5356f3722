//! Rule `linkerd-startup-port-undeclared`, documented in `docs/rules/linkerd-startup-port-undeclared.md`.

use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::linkerd::faults;
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "linkerd-startup-port-undeclared", Error, REPORTS }

const REPORTS: &[CauseReport] = &[CauseReport {
    mesh: Mesh::LINKERD,
    cause: Cause::Other(&faults::PORT_UNDECLARED),
    field: Some("port"),
    message: |handler| {
        format!(
            "{} may be denied: Linkerd does not announce the undeclared port of a startup probe \
             to its proxy",
            handler.title()
        )
    },
    help: "declare the port in `ports` of the container",
}];
