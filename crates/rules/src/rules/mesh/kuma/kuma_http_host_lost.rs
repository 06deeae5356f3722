//! Rule `kuma-http-host-lost`, documented in `docs/rules/kuma-http-host-lost.md`.

use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::kuma::faults;
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "kuma-http-host-lost", Warning, REPORTS }

const REPORTS: &[CauseReport] = &[CauseReport {
    mesh: Mesh::KUMA,
    cause: Cause::Other(&faults::HTTP_HOST_LOST),
    field: Some("host"),
    message: |handler| {
        format!(
            "{} checks the pod itself: Kuma drops `host`",
            handler.title()
        )
    },
    help: "remove `host` if the probe is for the pod itself, otherwise use `exec`",
}];
