//! The workloads of a tree, and its objects of meshes.

use crate::kube::{Object, Workload};
use crate::mesh::Mesh;

/// A workload and whether findings about it are reported.
#[derive(Clone, Debug)]
pub struct Subject<'t> {
    /// The workload.
    pub workload: Workload<'t>,
    /// Findings about it are reported: it is not only context.
    pub is_target: bool,
}

/// An object of a mesh.
#[derive(Debug)]
pub(in crate::context) struct MeshObject<'t> {
    /// The mesh that it belongs to.
    pub(in crate::context) mesh: Mesh,
    /// It is a definition of such objects, not one of them.
    pub(in crate::context) is_definition: bool,
    pub(in crate::context) object: Object<'t>,
}
