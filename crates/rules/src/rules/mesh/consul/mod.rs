//! Consul.

crate::rules::group::rules! {
    consul_expose_overwritten,
    consul_expose_query,
    consul_multiport_tproxy,
    consul_port_name_shared,
    consul_probe_not_rewritten,
    consul_reserved_ports,
}
