//! Rule `kuma-host-header-lost`, documented in `docs/rules/kuma-host-header-lost.md`.

use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::kuma::faults;
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "kuma-host-header-lost", Warning, REPORTS }

const REPORTS: &[CauseReport] = &[CauseReport {
    mesh: Mesh::KUMA,
    cause: Cause::Other(&faults::HOST_HEADER_LOST),
    field: Some("httpHeaders"),
    message: |handler| {
        format!(
            "{} loses its `Host` header: the probe proxy of Kuma does not forward it",
            handler.title()
        )
    },
    help: "use a path that responds for every host",
}];
