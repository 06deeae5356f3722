//! Rules about lifecycle hooks and the start order of containers.

crate::rules::group::rules! {
    lifecycle_hook_strict,
    native_sidecar_startup_deadlock,
    poststart_http_before_sidecar,
    sidecar_boot_kills_app,
}
