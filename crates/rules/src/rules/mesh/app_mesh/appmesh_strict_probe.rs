//! Rule `appmesh-strict-probe`, documented in `docs/rules/appmesh-strict-probe.md`.

use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::app_mesh::faults;
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "appmesh-strict-probe", Error, REPORTS }

const REPORTS: &[CauseReport] = &[CauseReport {
    mesh: Mesh::APP_MESH,
    cause: Cause::Other(&faults::PLAIN_AT_STRICT),
    field: None,
    message: |handler| {
        format!(
            "{} fails: App Mesh captures the port, and its listener accepts only TLS of the mesh",
            handler.title()
        )
    },
    help: "serve the check on another port, and list only the ports of the application in \
           `appmesh.k8s.aws/ports`",
}];
