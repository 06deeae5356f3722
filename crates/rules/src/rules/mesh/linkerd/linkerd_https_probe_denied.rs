//! Rule `linkerd-https-probe-denied`, documented in `docs/rules/linkerd-https-probe-denied.md`.

use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::linkerd::faults;
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "linkerd-https-probe-denied", Error, REPORTS }

const REPORTS: &[CauseReport] = &[CauseReport {
    mesh: Mesh::LINKERD,
    cause: Cause::Other(&faults::NO_PROBE_ROUTE),
    field: None,
    message: |handler| {
        let mut because = handler.verdict.because.iter();
        let reason = because.find(|reason| reason.place.is_none());
        let why = reason.map_or("Linkerd creates no route for it", |reason| &reason.message);
        format!("{} is denied: {why}", handler.title())
    },
    help: "target a plain-text port, or exclude the port with `config.linkerd.io/skip-inbound-ports`",
}];
