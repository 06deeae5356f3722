//! Rules about the fields of probes, and about the protocol of the ports that they target.

pub(in crate::rules) mod service_protocol;

crate::rules::group::rules! {
    container_name_invalid,
    exec_curl_to_itself,
    exec_probe_through_sidecar,
    exec_tcp_through_service,
    grpc_probe_on_http1_service_port,
    http_probe_on_http2_service_port,
    https_probe_on_http_service_port,
    https_probe_plain_listener,
    https_probe_strict,
    named_port_unresolved,
    pod_security_forbids_host,
    probe_field_invalid,
    probe_path_not_a_path,
    probe_port_of_other_container,
    probe_port_out_of_range,
    probe_port_quoted_number,
    probe_two_handlers,
    tcp_probe_always_passes,
}
