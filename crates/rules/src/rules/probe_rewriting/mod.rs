//! Rules about the handlers that the injector rewrites, and those that it does not.

pub(in crate::rules) mod unsupported_by_release;

crate::rules::group::rules! {
    grpc_probe_needs_1_13,
    host_header_dropped,
    http_probe_host_rewritten,
    init_probe_needs_1_19,
    lifecycle_hook_host_rewritten,
    lifecycle_key_needs_1_25,
    probe_protocol_unsupported,
    proxyless_template_no_rewrite,
    redundant_rewrite_annotation,
    rewrite_disabled_globally,
    rewrite_off_before_1_6,
    strict_probe_not_rewritten,
    tcp_probe_host_dropped,
    tcp_probe_needs_1_12,
}
