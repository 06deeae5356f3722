//! The rules about meshes other than Istio.

crate::rules::group::groups! {
    app_mesh,
    cilium,
    consul,
    kuma,
    linkerd,
    osm,
    shared,
}
