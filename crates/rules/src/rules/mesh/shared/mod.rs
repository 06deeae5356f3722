//! The rules about several meshes.

crate::rules::group::rules! {
    several_meshes,
}
