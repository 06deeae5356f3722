//! Rule `vm-header-name`, documented in `docs/rules/vm-header-name.md`.

use meshprobe_mesh::mesh::istio::vm;

use crate::rules::vm::fault_report::{FaultReport, declare_fault_rule};
use crate::rules::vm::workload_group;

declare_fault_rule! { "vm-header-name", Error, REPORT }

const REPORT: FaultReport = FaultReport {
    applies_to: |kind| matches!(kind, vm::FaultKind::HeaderName),
    message: |group, fault| {
        let name = match group.node.at(&fault.within) {
            Some(_) => format!(
                "the invalid name `{}`",
                workload_group::source(group, fault.span)
            ),
            None => "no name".to_owned(),
        };
        format!(
            "a header of the probe of {} has {name}: istiod refuses it",
            workload_group::title(group),
        )
    },
    help: "use a name of letters, digits and `-`; to set the host, use the header `Host`",
};
