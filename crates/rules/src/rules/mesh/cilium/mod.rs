//! Cilium.

crate::rules::group::rules! {
    cilium_localhost_policy,
    cilium_ztunnel_policy,
}
