//! The rules: one file each, on top of the prediction.

mod ambient_and_injection_labels;
mod ambient_disable_unsupported;
mod ambient_inbound_bypass;
mod ambient_netpol_blocks_hbone;
mod ambient_netpol_blocks_probes;
mod ambient_rewrite_annotation_dead;
mod annotation_bad_boolean;
mod annotation_name_typo;
mod annotation_not_a_string;
mod annotation_on_workload_metadata;
mod app_probe_on_status_port;
mod appmesh_strict_probe;
mod appmesh_tcp_probe_always_true;
mod authz_blocks_probe;
mod authz_deny_unauthenticated;
mod authz_exception_only_for_probe;
mod authz_http_rule_on_tcp_port;
mod chart_values;
mod cilium_localhost_policy;
mod cni_init_mismatch;
mod consent;
mod consul_expose_overwritten;
mod consul_expose_query;
mod consul_multiport_tproxy;
mod consul_port_name_shared;
mod consul_probe_not_rewritten;
mod consul_reserved_ports;
mod container_name_invalid;
mod disable_rewrite;
mod enable_rewrite;
mod envoyfilter_unknown;
mod exclude_ignored_with_include_list;
mod exec_curl_to_itself;
mod exec_probe_through_sidecar;
mod exec_tcp_through_service;
mod grpc_probe_needs_1_13;
mod grpc_probe_on_http1_service_port;
mod hold_application;
mod hostnetwork_not_in_mesh;
mod http_probe_host_rewritten;
mod http_probe_on_http2_service_port;
mod https_probe_on_http_service_port;
mod https_probe_plain_listener;
mod https_probe_strict;
mod inbound_capture_off;
mod init_probe_needs_1_19;
mod inject_annotation_never_seen;
mod inject_label_blocked_by_namespace;
mod inject_label_invalid;
mod inject_value_changed_in_1_27;
mod injection_template_unknown;
mod interception_none_no_ingress;
mod invalid_traffic_annotation;
mod kuma_gateway_annotation_false;
mod kuma_host_header_lost;
mod kuma_http_host_lost;
mod kuma_label_not_annotation;
mod kuma_native_sidecar_order;
mod kuma_probe_port_unprotected;
mod kuma_reserved_port;
mod kuma_tcp_grpc_needs_2_9;
mod label_use;
mod late_injected_container;
mod legacy_auth_annotation;
mod legacy_authentication_api;
mod lifecycle_hook_host_rewritten;
mod lifecycle_hook_strict;
mod lifecycle_key_needs_1_25;
mod linkerd_grpc_probe_denied;
mod linkerd_hook_denied;
mod linkerd_https_probe_denied;
mod linkerd_path_without_slash;
mod linkerd_probe_network;
mod linkerd_route_hides_probe;
mod linkerd_startup_port_undeclared;
mod linkerd_tcp_probe_always_true;
mod localhost_destination_changed;
mod manual_probers_env;
mod mesh_config_conflict;
mod mesh_value_refused;
mod named_port_unresolved;
mod namespace_two_injection_labels;
mod namespace_unknown;
mod native_sidecar_startup_deadlock;
mod netpol_ipblock_misses_status_port;
mod osm_already_rewritten;
mod osm_annotation_value;
mod osm_archived;
mod osm_grpc_probe;
mod osm_http_host;
mod osm_https_collision;
mod osm_lifecycle_http;
mod osm_native_sidecar_dropped;
mod osm_podip_only_app;
mod osm_probe_collision;
mod osm_probe_not_changed;
mod osm_probe_port_in_use;
mod osm_probe_without_endpoint;
mod osm_tcp_host_lost;
mod osm_tcp_probe_accepted;
mod overlay;
mod peerauth_bad_mode;
mod peerauth_duplicate_scope;
mod peerauth_matches_nothing;
mod peerauth_not_enforced_no_sidecar;
mod peerauth_portlevel_service_port;
mod peerauth_portlevel_unknown_port;
mod peerauth_portlevel_without_selector;
mod peerauth_root_selector_ignored;
mod peerauth_unset_inherits;
mod pod_key;
mod pod_labels;
mod port_exception;
mod poststart_http_before_sidecar;
mod prerewritten_custom_port_recursion;
mod probe_env_reference;
mod probe_field_invalid;
mod probe_on_reserved_port;
mod probe_path_not_a_path;
mod probe_port_excluded_cleartext;
mod probe_port_of_other_container;
mod probe_port_out_of_range;
mod probe_port_quoted_number;
mod probe_timeout_missing_in_env;
mod probe_two_handlers;
mod prober_env;
mod probers_env_invalid;
mod probers_lost_on_reinjection;
mod proxy_ports;
mod proxyless_template_no_rewrite;
mod reached_pods;
mod redundant_rewrite_annotation;
mod refused;
mod release_gap;
mod rev_label_with_disabled_inject;
mod revision_not_installed;
mod rewrite_cure;
mod rewrite_disabled_globally;
mod rewrite_off_before_1_6;
mod rewritten_and_rewrite_off;
mod rewritten_status_port_differs;
mod rewritten_without_entry;
mod rewritten_without_sidecar;
mod rule;
mod scene;
mod service_port;
mod sidecar_boot_kills_app;
mod sidecar_ingress_tls_ignored;
mod stale_probe_exception;
mod status_annotation_by_hand;
mod status_port_in_include_list;
mod status_port_mesh_mismatch;
mod status_port_per_pod_proxyconfig;
mod status_port_zero;
mod strict_probe_not_rewritten;
mod suggest;
mod switched_off;
mod system_namespace_never_injected;
mod tcp_probe_always_passes;
mod tcp_probe_host_dropped;
mod tcp_probe_needs_1_12;
mod unrendered_template;
mod verdict_differs_between_overlays;
mod vm_exec_empty;
mod vm_failure_threshold_1;
mod vm_field_type;
mod vm_grpc_probe;
mod vm_header_name;
mod vm_host_not_local;
mod vm_https_verified;
mod vm_multi_doc;
mod vm_negative;
mod vm_port;
mod vm_port_name;
mod vm_probe_in_annotation;
mod vm_probe_port_conflict;
mod vm_probe_two_handlers;
mod vm_probe_without_handler;
mod vm_scheme;
mod vm_template_missing;
mod vm_unknown_field;
mod vm_workloadentry_not_health_checked;
mod workload_group;
mod worlds;
mod yaml11_header_value;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::context::Context;
use crate::finding::Finding;
use crate::predict::WorkloadPrediction;

use pod_labels::PodLabels;
use rewrite_cure::RewriteCures;

pub use rule::{Example, FixAvailability, Rule, Scope, Sections};
pub use scene::{ByNamespace, Scene};
pub use unrendered_template::unrendered;

/// Every rule, sorted by id.
static ALL: &[Rule] = &[
    ambient_and_injection_labels::RULE,
    ambient_disable_unsupported::RULE,
    ambient_inbound_bypass::RULE,
    ambient_netpol_blocks_hbone::RULE,
    ambient_netpol_blocks_probes::RULE,
    ambient_rewrite_annotation_dead::RULE,
    annotation_bad_boolean::RULE,
    annotation_name_typo::RULE,
    annotation_not_a_string::RULE,
    annotation_on_workload_metadata::RULE,
    app_probe_on_status_port::RULE,
    appmesh_strict_probe::RULE,
    appmesh_tcp_probe_always_true::RULE,
    authz_blocks_probe::RULE,
    authz_deny_unauthenticated::RULE,
    authz_exception_only_for_probe::RULE,
    authz_http_rule_on_tcp_port::RULE,
    cilium_localhost_policy::RULE,
    cni_init_mismatch::RULE,
    consul_expose_overwritten::RULE,
    consul_expose_query::RULE,
    consul_multiport_tproxy::RULE,
    consul_port_name_shared::RULE,
    consul_probe_not_rewritten::RULE,
    consul_reserved_ports::RULE,
    container_name_invalid::RULE,
    envoyfilter_unknown::RULE,
    exclude_ignored_with_include_list::RULE,
    exec_curl_to_itself::RULE,
    exec_probe_through_sidecar::RULE,
    exec_tcp_through_service::RULE,
    grpc_probe_needs_1_13::RULE,
    grpc_probe_on_http1_service_port::RULE,
    hostnetwork_not_in_mesh::RULE,
    http_probe_host_rewritten::RULE,
    http_probe_on_http2_service_port::RULE,
    https_probe_on_http_service_port::RULE,
    https_probe_plain_listener::RULE,
    https_probe_strict::RULE,
    inbound_capture_off::RULE,
    init_probe_needs_1_19::RULE,
    inject_annotation_never_seen::RULE,
    inject_label_blocked_by_namespace::RULE,
    inject_label_invalid::RULE,
    inject_value_changed_in_1_27::RULE,
    injection_template_unknown::RULE,
    interception_none_no_ingress::RULE,
    invalid_traffic_annotation::RULE,
    kuma_gateway_annotation_false::RULE,
    kuma_host_header_lost::RULE,
    kuma_http_host_lost::RULE,
    kuma_label_not_annotation::RULE,
    kuma_native_sidecar_order::RULE,
    kuma_probe_port_unprotected::RULE,
    kuma_reserved_port::RULE,
    kuma_tcp_grpc_needs_2_9::RULE,
    late_injected_container::RULE,
    legacy_auth_annotation::RULE,
    legacy_authentication_api::RULE,
    lifecycle_hook_host_rewritten::RULE,
    lifecycle_hook_strict::RULE,
    lifecycle_key_needs_1_25::RULE,
    linkerd_grpc_probe_denied::RULE,
    linkerd_hook_denied::RULE,
    linkerd_https_probe_denied::RULE,
    linkerd_path_without_slash::RULE,
    linkerd_probe_network::RULE,
    linkerd_route_hides_probe::RULE,
    linkerd_startup_port_undeclared::RULE,
    linkerd_tcp_probe_always_true::RULE,
    localhost_destination_changed::RULE,
    manual_probers_env::RULE,
    mesh_config_conflict::RULE,
    mesh_value_refused::RULE,
    named_port_unresolved::RULE,
    namespace_two_injection_labels::RULE,
    namespace_unknown::RULE,
    native_sidecar_startup_deadlock::RULE,
    netpol_ipblock_misses_status_port::RULE,
    osm_already_rewritten::RULE,
    osm_annotation_value::RULE,
    osm_archived::RULE,
    osm_grpc_probe::RULE,
    osm_http_host::RULE,
    osm_https_collision::RULE,
    osm_lifecycle_http::RULE,
    osm_native_sidecar_dropped::RULE,
    osm_podip_only_app::RULE,
    osm_probe_collision::RULE,
    osm_probe_not_changed::RULE,
    osm_probe_port_in_use::RULE,
    osm_probe_without_endpoint::RULE,
    osm_tcp_host_lost::RULE,
    osm_tcp_probe_accepted::RULE,
    peerauth_bad_mode::RULE,
    peerauth_duplicate_scope::RULE,
    peerauth_matches_nothing::RULE,
    peerauth_not_enforced_no_sidecar::RULE,
    peerauth_portlevel_service_port::RULE,
    peerauth_portlevel_unknown_port::RULE,
    peerauth_portlevel_without_selector::RULE,
    peerauth_root_selector_ignored::RULE,
    peerauth_unset_inherits::RULE,
    poststart_http_before_sidecar::RULE,
    prerewritten_custom_port_recursion::RULE,
    probe_env_reference::RULE,
    probe_field_invalid::RULE,
    probe_on_reserved_port::RULE,
    probe_path_not_a_path::RULE,
    probe_port_excluded_cleartext::RULE,
    probe_port_of_other_container::RULE,
    probe_port_out_of_range::RULE,
    probe_port_quoted_number::RULE,
    probe_timeout_missing_in_env::RULE,
    probe_two_handlers::RULE,
    probers_env_invalid::RULE,
    probers_lost_on_reinjection::RULE,
    proxyless_template_no_rewrite::RULE,
    redundant_rewrite_annotation::RULE,
    rev_label_with_disabled_inject::RULE,
    revision_not_installed::RULE,
    rewrite_disabled_globally::RULE,
    rewrite_off_before_1_6::RULE,
    rewritten_and_rewrite_off::RULE,
    rewritten_status_port_differs::RULE,
    rewritten_without_entry::RULE,
    rewritten_without_sidecar::RULE,
    sidecar_boot_kills_app::RULE,
    sidecar_ingress_tls_ignored::RULE,
    stale_probe_exception::RULE,
    status_annotation_by_hand::RULE,
    status_port_in_include_list::RULE,
    status_port_mesh_mismatch::RULE,
    status_port_per_pod_proxyconfig::RULE,
    status_port_zero::RULE,
    strict_probe_not_rewritten::RULE,
    system_namespace_never_injected::RULE,
    tcp_probe_always_passes::RULE,
    tcp_probe_host_dropped::RULE,
    tcp_probe_needs_1_12::RULE,
    unrendered_template::RULE,
    verdict_differs_between_overlays::RULE,
    vm_exec_empty::RULE,
    vm_failure_threshold_1::RULE,
    vm_field_type::RULE,
    vm_grpc_probe::RULE,
    vm_header_name::RULE,
    vm_host_not_local::RULE,
    vm_https_verified::RULE,
    vm_multi_doc::RULE,
    vm_negative::RULE,
    vm_port::RULE,
    vm_port_name::RULE,
    vm_probe_in_annotation::RULE,
    vm_probe_port_conflict::RULE,
    vm_probe_two_handlers::RULE,
    vm_probe_without_handler::RULE,
    vm_scheme::RULE,
    vm_template_missing::RULE,
    vm_unknown_field::RULE,
    vm_workloadentry_not_health_checked::RULE,
    yaml11_header_value::RULE,
];

/// Returns every rule, sorted by id.
#[must_use]
pub fn all() -> &'static [Rule] {
    ALL
}

/// What is done with each finding before those of several overlays become one: it is given the
/// predictions of the render unit, all of them for rules about the whole tree.
pub type Mark<'m> = &'m dyn Fn(&[WorkloadPrediction<'_>], &mut Finding);

/// Runs every rule over the predictions. What several overlays of one base have in common is said
/// once, with the overlays it holds for.
#[must_use]
pub fn check(context: &Context<'_>, predictions: &[WorkloadPrediction<'_>]) -> Vec<Finding> {
    check_marked(context, predictions, &|_, _| {})
}

/// Does what [`check`] does, and marks each finding on the way.
#[must_use]
pub fn check_marked(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
    mark: Mark<'_>,
) -> Vec<Finding> {
    let by_namespace = scene::by_namespace(context, predictions);
    let by_label = PodLabels::of(context, predictions);
    let whole = Scene {
        context,
        predictions,
        by_namespace: &by_namespace,
        by_label: &by_label,
        cures: &RewriteCures::default(),
    };
    let of_tree: Vec<&Rule> = of_scope(Scope::Tree).collect();
    let found: Vec<Vec<Finding>> = of_tree
        .par_iter()
        .map(|rule| (rule.check)(&whole))
        .collect();
    let found = found.into_iter().flatten();
    let mut findings: Vec<Finding> = found
        .map(|finding| overlay::place(context, None, marked(mark, predictions, finding)))
        .collect();
    // Workloads come kustomization by kustomization.
    let units: Vec<&[WorkloadPrediction<'_>]> = predictions.chunk_by(overlay::is_one).collect();
    let found: Vec<Vec<Finding>> = units
        .par_iter()
        .map(|predictions| {
            let scene = Scene {
                context,
                predictions,
                by_namespace: &by_namespace,
                by_label: &by_label,
                cures: &RewriteCures::default(),
            };
            let other_worlds = worlds::check(context, predictions);
            run(Scope::Workloads, &scene).chain(other_worlds).collect()
        })
        .collect();
    for (predictions, found) in units.into_iter().zip(found) {
        let home = predictions.first().and_then(overlay::of);
        let found = found.into_iter();
        findings.extend(
            found.map(|finding| overlay::place(context, home, marked(mark, predictions, finding))),
        );
    }
    let guard = consent::Guard::new(predictions);
    for finding in &mut findings {
        guard.apply(finding);
    }
    overlay::merged(findings)
}

fn marked(mark: Mark<'_>, predictions: &[WorkloadPrediction<'_>], mut finding: Finding) -> Finding {
    mark(predictions, &mut finding);
    finding
}

fn of_scope(scope: Scope) -> impl Iterator<Item = &'static Rule> {
    all().iter().filter(move |rule| rule.scope == scope)
}

fn run(scope: Scope, scene: &Scene<'_, '_>) -> impl Iterator<Item = Finding> {
    of_scope(scope).flat_map(|rule| (rule.check)(scene))
}
