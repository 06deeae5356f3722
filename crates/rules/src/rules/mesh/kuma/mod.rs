//! Kuma.

crate::rules::group::rules! {
    kuma_gateway_annotation_false,
    kuma_host_header_lost,
    kuma_http_host_lost,
    kuma_label_not_annotation,
    kuma_native_sidecar_order,
    kuma_probe_port_unprotected,
    kuma_reserved_port,
    kuma_tcp_grpc_needs_2_9,
}
