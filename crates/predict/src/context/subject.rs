//! The workloads of a tree, and its objects of meshes.

use meshprobe_mesh::finding::Label;
use meshprobe_mesh::kube::{Object, Workload};
use meshprobe_mesh::mesh::{self, Mesh, Version};

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

/// An installation of a mesh other than Istio.
#[derive(Debug)]
pub(in crate::context) struct MeshInstall<'t> {
    pub(in crate::context) mesh: Mesh,
    pub(in crate::context) release: Version,
    /// The place that states the release.
    pub(in crate::context) place: Label,
    /// The object that installs it; a kustomization or a chart may do without one.
    pub(in crate::context) object: Option<Object<'t>>,
}

impl<'t> MeshInstall<'t> {
    /// Returns what an object installs by itself.
    pub(in crate::context) fn of(object: &Object<'t>) -> Option<Self> {
        let (mesh, release, span) = mesh::installed_release(object)?;
        let stated = (mesh, release, object.label_at(span, String::new()));
        Some(Self::new(stated, Some(object)))
    }

    /// Returns the installation of a release that a place states.
    pub(in crate::context) fn new(
        (mesh, release, place): (Mesh, Version, Label),
        object: Option<&Object<'t>>,
    ) -> Self {
        Self {
            mesh,
            release,
            place,
            object: object.cloned(),
        }
    }

    /// Returns the file whose folder decides to which workloads it applies.
    pub(in crate::context) fn file(&self) -> &str {
        let object = self.object.as_ref();
        object.map_or(&self.place.path, Object::location_file)
    }
}
