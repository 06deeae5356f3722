//! Rules for NetworkPolicies that block the kubelet.

crate::rules::group::rules! {
    netpol_ipblock_misses_status_port,
}
