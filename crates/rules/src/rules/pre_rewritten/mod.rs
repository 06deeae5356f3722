//! Rules about pre-rewritten pods: those that were rewritten ahead of deployment.

crate::rules::group::rules! {
    manual_probers_env,
    prerewritten_custom_port_recursion,
    probe_env_reference,
    probe_timeout_missing_in_env,
    probers_env_invalid,
    rewritten_and_rewrite_off,
    rewritten_status_port_differs,
    rewritten_without_entry,
    rewritten_without_sidecar,
    yaml11_header_value,
}
