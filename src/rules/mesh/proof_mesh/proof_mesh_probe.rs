//! Rule `proof-mesh-probe`, documented in `docs/rules/proof-mesh-probe.md`.

use crate::mesh::Mesh;
use crate::mesh::proof_mesh::faults;
use crate::predict::Cause;
use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "proof-mesh-probe", Error, REPORTS }

const REPORTS: &[CauseReport] = &[CauseReport {
    mesh: Mesh::PROOF_MESH,
    cause: Cause::Other(&faults::PLAIN_AT_PROXY),
    field: None,
    message: |handler| {
        format!(
            "{} fails: the proxy only accepts mutual TLS",
            handler.title()
        )
    },
    help: "use `exec`",
}];
