//! Rule `consul-probe-not-rewritten`, documented in `docs/rules/consul-probe-not-rewritten.md`.

use meshprobe_mesh::mesh::consul::faults;
use meshprobe_mesh::mesh::{Mesh, shared_faults};
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "consul-probe-not-rewritten", Error, REPORTS }

const TO_HTTP: &str = "use `httpGet` or `exec`, or exclude the port from capture \
     (`consul.hashicorp.com/transparent-proxy-exclude-inbound-ports`)";
const TO_EXEC: &str = "use `exec`, or exclude the port from capture \
     (`consul.hashicorp.com/transparent-proxy-exclude-inbound-ports`)";

const REPORTS: &[CauseReport] = &[
    CauseReport {
        mesh: Mesh::CONSUL,
        cause: Cause::SidecarAccepts,
        field: None,
        message: |handler| {
            format!(
                "{} always succeeds: the proxy accepts every connection, and Consul rewrites only \
                 `httpGet`",
                handler.title()
            )
        },
        help: TO_HTTP,
    },
    CauseReport {
        mesh: Mesh::CONSUL,
        cause: Cause::Other(&shared_faults::GRPC_AT_MTLS),
        field: None,
        message: |handler| {
            format!(
                "{} fails: it sends plain text, the port requires mutual TLS, and Consul rewrites \
                 only `httpGet`",
                handler.title()
            )
        },
        help: TO_HTTP,
    },
    CauseReport {
        mesh: Mesh::CONSUL,
        cause: Cause::Other(&faults::PLAIN_AT_MTLS),
        field: None,
        message: |handler| {
            let why = if handler.container.is_native_sidecar() {
                "Consul does not rewrite probes of init containers"
            } else {
                "Consul leaves it unchanged"
            };
            format!(
                "{} fails: it sends plain text, the port requires mutual TLS, and {why}",
                handler.title()
            )
        },
        help: TO_EXEC,
    },
    CauseReport {
        mesh: Mesh::CONSUL,
        cause: Cause::Other(&shared_faults::HOOK_AT_MTLS),
        field: None,
        message: |handler| {
            format!(
                "{} fails: it sends plain text, the port requires mutual TLS, and Consul does not \
                 rewrite hooks",
                handler.title()
            )
        },
        help: TO_EXEC,
    },
];
