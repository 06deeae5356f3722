//! The rules about meshes other than Istio: a file for each mesh whose line in the registry names one.

macro_rules! mesh_groups {
    ($($mesh:ident [$($file:ident)?],)+) => {
        super::groups! { $($($file,)?)+ several }
    };
}
meshprobe_mesh::for_each_mesh!(mesh_groups);
