//! Rules for the injection of the sidecar and its settings.

crate::rules::group::rules! {
    annotation_bad_boolean,
    annotation_name_typo,
    annotation_not_a_string,
    annotation_on_workload_metadata,
    hostnetwork_not_in_mesh,
    inject_annotation_never_seen,
    inject_label_blocked_by_namespace,
    inject_label_invalid,
    inject_value_changed_in_1_27,
    injection_template_unknown,
    late_injected_container,
    mesh_label_invalid,
    namespace_two_injection_labels,
    namespace_unknown,
    probers_lost_on_reinjection,
    prometheus_port_refused,
    rev_label_with_disabled_inject,
    revision_not_installed,
    status_annotation_by_hand,
    system_namespace_never_injected,
}
