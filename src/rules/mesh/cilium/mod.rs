//! Cilium.

crate::rules::group::rules! {
    cilium_localhost_policy,
}
