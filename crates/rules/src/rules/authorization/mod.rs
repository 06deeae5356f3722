//! Rules about AuthorizationPolicies that deny probes, or allow them without need, and about policies that are rejected.

crate::rules::group::rules! {
    authz_blocks_probe,
    authz_deny_unauthenticated,
    authz_exception_only_for_probe,
    authz_http_rule_on_tcp_port,
    policy_invalid,
}
