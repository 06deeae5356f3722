//! Rule `kuma-tcp-grpc-needs-2-9`, documented in `docs/rules/kuma-tcp-grpc-needs-2-9.md`.

use meshprobe_mesh::mesh::{Mesh, shared_faults};
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "kuma-tcp-grpc-needs-2-9", Warning, REPORTS }

const HELP: &str = "upgrade Kuma, or use `httpGet` or `exec`";

const REPORTS: &[CauseReport] = &[
    CauseReport {
        mesh: Mesh::KUMA,
        cause: Cause::SidecarAccepts,
        field: None,
        message: |handler| {
            format!(
                "{} always succeeds: the sidecar accepts every connection; Kuma rewrites it since 2.9",
                handler.title()
            )
        },
        help: HELP,
    },
    CauseReport {
        mesh: Mesh::KUMA,
        cause: Cause::Other(&shared_faults::GRPC_AT_MTLS),
        field: None,
        message: |handler| {
            format!(
                "{} fails: it sends plain text, and the port requires mutual TLS; Kuma rewrites \
                 it since 2.9",
                handler.title()
            )
        },
        help: HELP,
    },
];
