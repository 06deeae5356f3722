//! Rule `vm-template-missing`, documented in `docs/rules/vm-template-missing.md`.

use meshprobe_mesh::mesh::istio::vm;

use crate::rules::vm::fault_report::{FaultReport, declare_fault_rule};
use crate::rules::vm::workload_group;

declare_fault_rule! { "vm-template-missing", Error, REPORT }

const REPORT: FaultReport = FaultReport {
    applies_to: |kind| matches!(kind, vm::FaultKind::NoTemplate),
    message: |group, _| {
        format!(
            "{} has no `spec.template`: istiod refuses it (`template is required`)",
            workload_group::title(group),
        )
    },
    help: "add `spec.template` with the service account and the ports of the machines",
};
