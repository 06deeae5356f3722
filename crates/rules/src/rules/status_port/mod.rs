//! Rules for the agent's port (`statusPort`).

crate::rules::group::rules! {
    app_probe_on_status_port,
    probe_on_reserved_port,
    status_port_mesh_mismatch,
    status_port_per_pod_proxyconfig,
    status_port_zero,
}
