//! AWS App Mesh.

crate::rules::group::rules! {
    appmesh_ended,
    appmesh_strict_probe,
    appmesh_tcp_probe_always_true,
}
