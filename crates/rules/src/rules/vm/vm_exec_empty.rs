//! Rule `vm-exec-empty`, documented in `docs/rules/vm-exec-empty.md`.

use meshprobe_mesh::mesh::istio::vm;

use crate::rules::vm::fault_report::{FaultReport, declare_fault_rule};
use crate::rules::vm::workload_group;

declare_fault_rule! { "vm-exec-empty", Error, REPORT }

const REPORT: FaultReport = FaultReport {
    applies_to: |kind| matches!(kind, vm::FaultKind::NoCommand),
    message: |group, _| {
        format!(
            "the probe of {} has no command: istiod refuses it (`exec.command is required`), and an \
         agent that receives it from istioctl panics",
            workload_group::title(group),
        )
    },
    help: "set `command`, or use `httpGet` or `tcpSocket`",
};
