//! Rule `linkerd-hook-denied`, documented in `docs/rules/linkerd-hook-denied.md`.

use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::linkerd::faults;
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "linkerd-hook-denied", Warning, REPORTS }

const REPORTS: &[CauseReport] = &[CauseReport {
    mesh: Mesh::LINKERD,
    cause: Cause::Other(&faults::HOOK_DENIED),
    field: None,
    message: |handler| {
        format!(
            "{} is denied: the port admits only clients of the mesh, and Linkerd creates no \
             routes for hooks",
            handler.title()
        )
    },
    help: "use `exec`, or exclude the port with `config.linkerd.io/skip-inbound-ports`",
}];
