//! Linkerd.

crate::rules::group::rules! {
    linkerd_grpc_probe_denied,
    linkerd_hook_denied,
    linkerd_https_probe_denied,
    linkerd_path_without_slash,
    linkerd_probe_network,
    linkerd_route_hides_probe,
    linkerd_startup_port_undeclared,
    linkerd_tcp_probe_always_true,
}
