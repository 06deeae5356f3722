//! Rules for the installation of the mesh.

crate::rules::group::rules! {
    cni_init_mismatch,
    envoyfilter_unknown,
    mesh_config_conflict,
    mesh_config_invalid,
    mesh_value_refused,
}
