//! The releases of meshes other than Istio that the tree installs.

use meshprobe_mesh::finding::Label;
use meshprobe_mesh::kube::{Object, nearness};
use meshprobe_mesh::mesh::{self, Fact, Mesh, Version};

use crate::context::run_context::Context;
use crate::context::subject::MeshInstall;

impl<'t> Context<'t> {
    /// Returns the release of a mesh other than Istio for an object: the one that the user sets, or that the nearest
    /// installation in the tree states; without one, the default of the mesh.
    #[must_use]
    pub fn mesh_release(&self, mesh: Mesh, object: &Object<'t>) -> Fact<Option<Version>> {
        let given = self.release_of(mesh, object);
        let installed = match given {
            Some(_) => None,
            None => self.installed_release(mesh, object),
        };
        match (installed, mesh::model_of(mesh)) {
            (Some(release), _) => release.map(Some),
            (None, Some(model)) => model.release(given),
            (None, None) => Fact::settled(given, String::new()),
        }
    }

    /// Returns the release that the nearest installations state; `None` if they differ.
    fn installed_release(&self, mesh: Mesh, object: &Object<'t>) -> Option<Fact<Version>> {
        let home = object.location_file();
        let environments = &self.inventory.environments;
        let shares_cluster = |install: &MeshInstall<'t>| {
            let installing = install.object.as_ref();
            installing.is_none_or(|installing| installing.may_share_cluster(object))
        };
        let installs = self.inventory.mesh_installs.iter().filter(|install| {
            install.mesh == mesh
                && environments.may_apply(install.file(), home)
                && shares_cluster(install)
        });
        let distance = |install: &&MeshInstall<'t>| nearness(install.file(), home);
        let best = installs.clone().map(|install| distance(&install)).max();
        let mut nearest = installs.filter(|install| Some(distance(install)) == best);
        let first = nearest.next()?;
        if nearest.any(|other| other.release != first.release) {
            return None;
        }
        let message = format!("{} {} is installed", mesh.title(), first.release);
        let place = first.place.clone();
        Some(Fact::known(first.release, Label { message, ..place }))
    }
}
