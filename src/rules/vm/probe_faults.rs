//! Rules that report one kind of fault of the probe of a WorkloadGroup.

use crate::mesh::istio::vm;
use crate::rules::vm::fault_report::{FaultReport, declare_fault_rule};
use crate::rules::vm::workload_group;

// Rule `vm-exec-empty`.

declare_fault_rule! {
    VM_EXEC_EMPTY = "vm-exec-empty", Error,
    FaultReport {
        applies_to: |kind| matches!(kind, vm::FaultKind::NoCommand),
        message: |group, _| {
            format!(
                "the probe of {} has no command: istiod refuses it (`exec.command is required`), and an \
             agent that receives it from istioctl panics",
                workload_group::title(group),
            )
        },
        help: "set `command`, or use `httpGet` or `tcpSocket`",
    }
}

// Rule `vm-grpc-probe`.

declare_fault_rule! {
    VM_GRPC_PROBE = "vm-grpc-probe", Error,
    FaultReport {
        applies_to: |kind| matches!(kind, vm::FaultKind::Grpc),
        message: |group, _| {
            format!(
                "the probe of {} uses gRPC: istiod refuses it (`unknown health check method`), and an \
             agent that receives it from istioctl crashes at the first `NOT_SERVING` response",
                workload_group::title(group),
            )
        },
        help: "run grpc_health_probe with `exec`, or use `httpGet` or `tcpSocket`",
    }
}

// Rule `vm-header-name`.

declare_fault_rule! {
    VM_HEADER_NAME = "vm-header-name", Error,
    FaultReport {
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
    }
}

// Rule `vm-negative`.

declare_fault_rule! {
    VM_NEGATIVE = "vm-negative", Error,
    FaultReport {
        applies_to: |kind| matches!(kind, vm::FaultKind::Negative),
        message: |group, fault| {
            format!(
                "`{}` of {} is negative: istiod refuses it",
                workload_group::field(fault),
                workload_group::title(group),
            )
        },
        help: "set it to 0 or more; 0 selects the default",
    }
}

// Rule `vm-port`.

declare_fault_rule! {
    VM_PORT = "vm-port", Error,
    FaultReport {
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
    }
}

// Rule `vm-probe-without-handler`.

declare_fault_rule! {
    VM_PROBE_WITHOUT_HANDLER = "vm-probe-without-handler", Error,
    FaultReport {
        applies_to: |kind| matches!(kind, vm::FaultKind::NoMethod),
        message: |group, _| {
            format!(
                "the probe of {} has no handler: istiod refuses it (`unknown health check method <nil>`), \
             and an agent that receives it from istioctl panics",
                workload_group::title(group),
            )
        },
        help: "add `httpGet`, `tcpSocket` or `exec`",
    }
}

// Rule `vm-template-missing`.

declare_fault_rule! {
    VM_TEMPLATE_MISSING = "vm-template-missing", Error,
    FaultReport {
        applies_to: |kind| matches!(kind, vm::FaultKind::NoTemplate),
        message: |group, _| {
            format!(
                "{} has no `spec.template`: istiod refuses it (`template is required`)",
                workload_group::title(group),
            )
        },
        help: "add `spec.template` with the service account and the ports of the machines",
    }
}
