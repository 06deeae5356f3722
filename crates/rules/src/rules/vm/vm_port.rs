//! Rule `vm-port`, documented in `docs/rules/vm-port.md`.

use meshprobe_mesh::mesh::istio::vm;

use crate::rules::vm::fault_report::{FaultReport, declare_fault_rule};
use crate::rules::vm::workload_group;

declare_fault_rule! { "vm-port", Error, REPORT }

const REPORT: FaultReport = FaultReport {
    applies_to: |kind| matches!(kind, vm::FaultKind::PortOutOfRange(_)),
    message: |group, fault| {
        let target = match fault.kind {
            vm::FaultKind::PortOutOfRange(Some(port)) => {
                format!("targets port {port}, which is out of range")
            }
            _ => "has no port".to_owned(),
        };
        format!(
            "the probe of {} {target}: istiod refuses it (`must be in the range 1..65535`)",
            workload_group::title(group),
        )
    },
    help: "set the number of the port that the application listens on",
};
