//! Rule `kuma-native-sidecar-order`, documented in `docs/rules/kuma-native-sidecar-order.md`.

use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::kuma::faults;
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "kuma-native-sidecar-order", Warning, REPORTS }

const REPORTS: &[CauseReport] = &[CauseReport {
    mesh: Mesh::KUMA,
    cause: Cause::Other(&faults::SIDECAR_LEFT),
    field: None,
    message: |handler| {
        format!(
            "{} is not rewritten: Kuma does not change probes of native sidecars",
            handler.title()
        )
    },
    help: "use `exec`, or configure Kuma to inject native sidecars",
}];
