//! Rules about PeerAuthentications, and about the older APIs that they replaced.

pub(in crate::rules) mod port_exceptions;

crate::rules::group::rules! {
    legacy_auth_annotation,
    legacy_authentication_api,
    peerauth_bad_mode,
    peerauth_duplicate_scope,
    peerauth_matches_nothing,
    peerauth_not_enforced_no_sidecar,
    peerauth_portlevel_service_port,
    peerauth_portlevel_unknown_port,
    peerauth_portlevel_without_selector,
    peerauth_root_selector_ignored,
    peerauth_unset_inherits,
    stale_probe_exception,
}
