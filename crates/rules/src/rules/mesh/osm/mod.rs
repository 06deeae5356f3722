//! Open Service Mesh.

crate::rules::group::rules! {
    osm_already_rewritten,
    osm_annotation_value,
    osm_archived,
    osm_grpc_probe,
    osm_http_host,
    osm_https_collision,
    osm_lifecycle_http,
    osm_native_sidecar_dropped,
    osm_podip_only_app,
    osm_probe_collision,
    osm_probe_not_changed,
    osm_probe_port_in_use,
    osm_probe_without_endpoint,
    osm_tcp_host_lost,
    osm_tcp_probe_accepted,
}
