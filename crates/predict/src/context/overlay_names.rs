//! The names of overlays: their paths, the folders that they deploy, and the objects that deploy them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_deploy::gitops::deployment::Deployment;
use meshprobe_mesh::kube::Object;
use meshprobe_tree::source::paths::{contains, folder};

use crate::context::environment_name::is_part_of;

/// What an overlay deploys, and what deploys it.
#[derive(Debug, Default)]
pub(super) struct OverlayParts<'t> {
    /// The files of its objects, or the files that deploy them.
    pub(super) files: BTreeSet<&'t str>,
    /// The kustomizations that render its objects.
    kustomizations: BTreeSet<&'t str>,
    /// The folders that it deploys, without `/` at the end.
    folders: BTreeSet<String>,
    /// The names of the objects that deploy them, directly or through others.
    objects: BTreeSet<&'t str>,
}

impl OverlayParts<'_> {
    /// Returns whether a name is a kustomization or a folder that the overlay deploys, or a part of its path that
    /// consists of whole folders.
    pub(super) fn deploys(&self, name: &str) -> bool {
        let mut kustomizations = self.kustomizations.iter();
        let mut folders = self.folders.iter();
        kustomizations.any(|path| *path == name || is_part_of(name, folder(path)))
            || folders.any(|folder| is_part_of(name, folder))
    }

    /// Returns whether an object of Flux or Argo CD with this name deploys the overlay.
    pub(super) fn is_deployed_by(&self, name: &str) -> bool {
        self.objects.contains(name)
    }
}

/// The overlays of a run, by path.
#[derive(Debug, Default)]
pub(super) struct OverlayIndex<'d, 't> {
    deployments: HashMap<&'d str, Vec<&'d Deployment<'t>>>,
    pub(super) overlays: BTreeMap<Arc<str>, OverlayParts<'t>>,
}

impl<'d, 't> OverlayIndex<'d, 't> {
    pub(super) fn new(deployments: &'d [Deployment<'t>]) -> Self {
        let mut index = Self::default();
        for deployment in deployments {
            for key in BTreeSet::from([&**deployment.home, &*deployment.environment]) {
                index.deployments.entry(key).or_default().push(deployment);
            }
        }
        index
    }

    /// Adds an object that is part of an overlay.
    pub(super) fn add(&mut self, overlay: &Arc<str>, object: &Object<'t>) {
        let parts = self.overlays.entry(Arc::clone(overlay)).or_default();
        parts.files.insert(object.location_file());
        let rendered_by = object.rendered_by.map(|rendering| &*rendering.root);
        parts.kustomizations.extend(rendered_by);
        let path = rendered_by.unwrap_or_else(|| object.path());
        let of_environment = self.deployments.get(&**overlay);
        let deployments = of_environment.or_else(|| self.deployments.get(object.location_file()));
        for deployment in deployments.into_iter().flatten() {
            if contains(&deployment.folder, path) {
                parts.files.insert(deployment.object.path());
                parts.folders.insert(deployment.folder.clone());
                parts.objects.insert(deployment.object.name());
                parts.objects.extend(&deployment.above);
            }
        }
    }
}
