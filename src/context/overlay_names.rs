//! The names of overlays: their paths, the folders that they deploy, and the objects that deploy them.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;

use crate::context::environment_name::is_part_of;
use crate::gitops::deployment::Deployment;
use crate::kube::Object;
use crate::source::paths::{contains, folder};

/// What an overlay deploys, and what deploys it.
#[derive(Debug, Default)]
pub(super) struct OverlayParts<'t> {
    /// The files of its objects, or the files that deploy them.
    pub(super) files: BTreeSet<&'t str>,
    /// The kustomizations that render its objects.
    kustomizations: BTreeSet<&'t str>,
    /// The folders that it deploys, without `/` at the end, and the names of the objects that deploy them.
    deployments: BTreeSet<(String, &'t str)>,
}

impl OverlayParts<'_> {
    /// Returns whether a name is a kustomization or a folder that the overlay deploys, or a part of its path that
    /// consists of whole folders.
    pub(super) fn deploys(&self, name: &str) -> bool {
        let mut kustomizations = self.kustomizations.iter();
        let mut deployments = self.deployments.iter();
        kustomizations.any(|path| *path == name || is_part_of(name, folder(path)))
            || deployments.any(|(folder, _)| is_part_of(name, folder))
    }

    /// Returns whether an object of Flux or Argo CD with this name deploys the overlay.
    pub(super) fn is_deployed_by(&self, name: &str) -> bool {
        let mut deployments = self.deployments.iter();
        deployments.any(|(_, object)| *object == name)
    }
}

/// The overlays of a run, by path.
#[derive(Debug, Default)]
pub(super) struct OverlayIndex<'d, 't> {
    deployments: HashMap<&'t str, Vec<&'d Deployment<'t>>>,
    pub(super) overlays: BTreeMap<&'t str, OverlayParts<'t>>,
}

impl<'d, 't> OverlayIndex<'d, 't> {
    pub(super) fn new(deployments: &'d [Deployment<'t>]) -> Self {
        let mut index = Self::default();
        for deployment in deployments {
            let file = &**deployment.object.path();
            index.deployments.entry(file).or_default().push(deployment);
        }
        index
    }

    /// Adds an object that is part of an overlay.
    pub(super) fn add(&mut self, overlay: &'t str, object: &Object<'t>) {
        let parts = self.overlays.entry(overlay).or_default();
        let file = &**object.location_file;
        parts.files.insert(file);
        let rendered_by = object.rendered_by.map(|path| &**path);
        parts.kustomizations.extend(rendered_by);
        let path = rendered_by.unwrap_or_else(|| object.path());
        for deployment in self.deployments.get(file).into_iter().flatten() {
            if contains(&deployment.folder, path) {
                let name = deployment.object.name();
                parts.deployments.insert((deployment.folder.clone(), name));
            }
        }
    }
}
