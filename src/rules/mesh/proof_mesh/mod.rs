//! The proof mesh.

crate::rules::group::rules! {
    proof_mesh_probe,
    proof_mesh_tcp_probe,
}
