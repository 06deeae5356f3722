//! Rules for pods in ambient mode.

crate::rules::group::rules! {
    ambient_and_injection_labels,
    ambient_cilium_cni_exclusive,
    ambient_disable_unsupported,
    ambient_inbound_bypass,
    ambient_l7_policy,
    ambient_netpol_blocks_hbone,
    ambient_netpol_blocks_probes,
    ambient_plugin_drops_probes,
    ambient_rewrite_annotation_dead,
    ambient_sidecar_annotation_dead,
}
