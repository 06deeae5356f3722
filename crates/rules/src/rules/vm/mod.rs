//! Health checks of WorkloadGroups on virtual machines.

pub(in crate::rules) mod fault_report;
pub(in crate::rules) mod workload_group;

crate::rules::group::rules! {
    vm_exec_empty,
    vm_failure_threshold_1,
    vm_field_type,
    vm_grpc_probe,
    vm_header_name,
    vm_host_not_local,
    vm_https_verified,
    vm_multi_doc,
    vm_negative,
    vm_port,
    vm_port_name,
    vm_probe_in_annotation,
    vm_probe_port_conflict,
    vm_probe_two_handlers,
    vm_probe_without_handler,
    vm_scheme,
    vm_template_missing,
    vm_unknown_field,
    vm_workloadentry_not_health_checked,
}
