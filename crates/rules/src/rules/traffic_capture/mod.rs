//! Rules for the inbound ports that the sidecar captures.

crate::rules::group::rules! {
    exclude_ignored_with_include_list,
    inbound_capture_off,
    interception_none_no_ingress,
    invalid_traffic_annotation,
    localhost_destination_changed,
    probe_port_excluded_cleartext,
    sidecar_ingress_tls_ignored,
    status_port_in_include_list,
}
