//! The workloads of a tree, and its objects of meshes.

use meshprobe_mesh::kube::{Object, Workload};
use meshprobe_mesh::mesh::{self, Mesh, Version};
use meshprobe_yaml::Span;

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

/// An object that installs a mesh other than Istio.
#[derive(Debug)]
pub(in crate::context) struct MeshInstall<'t> {
    pub(in crate::context) mesh: Mesh,
    pub(in crate::context) release: Version,
    /// The place that states the release.
    pub(in crate::context) span: Span,
    pub(in crate::context) object: Object<'t>,
}

impl<'t> MeshInstall<'t> {
    /// Returns what an object installs.
    pub(in crate::context) fn of(object: &Object<'t>) -> Option<Self> {
        let (mesh, release, span) = mesh::installed_release(object)?;
        Some(Self {
            mesh,
            release,
            span,
            object: object.clone(),
        })
    }
}
