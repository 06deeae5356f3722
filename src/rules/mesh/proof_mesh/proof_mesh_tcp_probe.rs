//! Rule `proof-mesh-tcp-probe`, documented in `docs/rules/proof-mesh-tcp-probe.md`.

use crate::mesh::Mesh;
use crate::predict::Cause;
use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "proof-mesh-tcp-probe", Error, REPORTS }

const REPORTS: &[CauseReport] = &[CauseReport {
    mesh: Mesh::PROOF_MESH,
    cause: Cause::SidecarAccepts,
    field: None,
    message: |handler| {
        format!(
            "{} always succeeds: the proxy accepts every connection",
            handler.title()
        )
    },
    help: "use `exec`",
}];
