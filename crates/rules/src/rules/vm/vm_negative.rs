//! Rule `vm-negative`, documented in `docs/rules/vm-negative.md`.

use meshprobe_mesh::mesh::istio::vm;

use crate::rules::vm::fault_report::{FaultReport, declare_fault_rule};
use crate::rules::vm::workload_group;

declare_fault_rule! { "vm-negative", Error, REPORT }

const REPORT: FaultReport = FaultReport {
    applies_to: |kind| matches!(kind, vm::FaultKind::Negative),
    message: |group, fault| {
        format!(
            "`{}` of {} is negative: istiod refuses it",
            workload_group::field(fault),
            workload_group::title(group),
        )
    },
    help: "set it to 0 or more; 0 selects the default",
};
