//! The objects of meshes other than Istio.

use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::Mesh;

use crate::context::inventory::Inventory;

impl<'t> Inventory<'t> {
    /// Iterates over the objects of a mesh that is not Istio.
    pub fn objects_of_mesh(&self, mesh: Mesh) -> impl Iterator<Item = &Object<'t>> {
        let objects = self.mesh_objects.iter();
        objects
            .filter(move |found| found.mesh == mesh && !found.is_definition)
            .map(|found| &found.object)
    }
}
