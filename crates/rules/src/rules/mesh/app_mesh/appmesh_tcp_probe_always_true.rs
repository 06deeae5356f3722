//! Rule `appmesh-tcp-probe-always-true`, documented in `docs/rules/appmesh-tcp-probe-always-true.md`.

use meshprobe_mesh::mesh::Mesh;
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "appmesh-tcp-probe-always-true", Error, REPORTS }

const REPORTS: &[CauseReport] = &[CauseReport {
    mesh: Mesh::APP_MESH,
    cause: Cause::SidecarAccepts,
    field: None,
    message: |handler| {
        format!(
            "{} always succeeds: the App Mesh proxy accepts every connection",
            handler.title()
        )
    },
    help: "use `httpGet` or `exec`, or list only the other ports in `appmesh.k8s.aws/ports`",
}];
