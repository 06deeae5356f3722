//! Rule `linkerd-tcp-probe-always-true`, documented in `docs/rules/linkerd-tcp-probe-always-true.md`.

use meshprobe_mesh::mesh::Mesh;
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "linkerd-tcp-probe-always-true", Error, REPORTS }

const REPORTS: &[CauseReport] = &[CauseReport {
    mesh: Mesh::LINKERD,
    cause: Cause::SidecarAccepts,
    field: None,
    message: |handler| {
        format!(
            "{} always succeeds: the Linkerd proxy accepts every connection",
            handler.title()
        )
    },
    help: "use `httpGet` or `exec`, or exclude the port with `config.linkerd.io/skip-inbound-ports`",
}];
