//! Rule `consul-expose-query`, documented in `docs/rules/consul-expose-query.md`.

use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::consul::faults;
use meshprobe_predict::predict::Cause;

use crate::rules::support::cause_report::{CauseReport, declare_cause_rule};

declare_cause_rule! { "consul-expose-query", Warning, REPORTS }

const REPORTS: &[CauseReport] = &[CauseReport {
    mesh: Mesh::CONSUL,
    cause: Cause::Other(&faults::QUERY_IN_PATH),
    field: Some("path"),
    message: |handler| {
        format!(
            "{} has a query in its path, which Consul matches as part of the path",
            handler.title()
        )
    },
    help: "use a path without a query",
}];
