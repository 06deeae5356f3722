//! Rule `vm-grpc-probe`, documented in `docs/rules/vm-grpc-probe.md`.

use meshprobe_mesh::mesh::istio::vm;

use crate::rules::vm::fault_report::{FaultReport, declare_fault_rule};
use crate::rules::vm::workload_group;

declare_fault_rule! { "vm-grpc-probe", Error, REPORT }

const REPORT: FaultReport = FaultReport {
    applies_to: |kind| matches!(kind, vm::FaultKind::Grpc),
    message: |group, _| {
        format!(
            "the probe of {} uses gRPC: istiod refuses it (`unknown health check method`), and an \
         agent that receives it from istioctl crashes at the first `NOT_SERVING` response",
            workload_group::title(group),
        )
    },
    help: "run grpc_health_probe with `exec`, or use `httpGet` or `tcpSocket`",
};
