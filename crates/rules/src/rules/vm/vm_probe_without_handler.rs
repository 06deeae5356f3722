//! Rule `vm-probe-without-handler`, documented in `docs/rules/vm-probe-without-handler.md`.

use meshprobe_mesh::mesh::istio::vm;

use crate::rules::vm::fault_report::{FaultReport, declare_fault_rule};
use crate::rules::vm::workload_group;

declare_fault_rule! { "vm-probe-without-handler", Error, REPORT }

const REPORT: FaultReport = FaultReport {
    applies_to: |kind| matches!(kind, vm::FaultKind::NoMethod),
    message: |group, _| {
        format!(
            "the probe of {} has no handler: istiod refuses it (`unknown health check method <nil>`), \
         and an agent that receives it from istioctl panics",
            workload_group::title(group),
        )
    },
    help: "add `httpGet`, `tcpSocket` or `exec`",
};
