//! Limits a run to some environments: overlays, clusters, and folders that contain the same objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_deploy::gitops::deployment::Deployment;
use meshprobe_mesh::finding::{Finding, environment_file, environment_object};
use meshprobe_mesh::kube::Object;
use meshprobe_tree::source::paths::{contains, folder};

use super::environment_name::{given_name, is_part_of};
use super::environments::Environments;

/// The environments that a run is limited to. Without names, it includes everything. What belongs to no environment is
/// part of all of them.
#[derive(Debug, Default)]
pub(super) struct EnvironmentFilter<'t> {
    names: Vec<EnvironmentName>,
    environments: Environments,
    /// Where the objects of a document are deployed; only if there are names.
    places: HashMap<(&'t str, usize), Vec<Place<'t>>>,
    /// The overlays that belong to the environments, because the file that deploys them does.
    overlays: HashSet<Arc<str>>,
    /// The folders with the files of several overlays, which are therefore named after their files.
    shared_folders: HashSet<String>,
}

/// Where an object is deployed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place<'t> {
    overlay: Option<Arc<str>>,
    /// The file of the object, or the file that deploys it.
    file: &'t str,
}

fn place_of<'t>(object: &Object<'t>) -> Place<'t> {
    Place {
        overlay: object.overlay.clone(),
        file: object.location_file,
    }
}

/// A name that the user gives, and whether an environment has it.
#[derive(Debug)]
struct EnvironmentName {
    given: String,
    is_known: bool,
    /// The files of the overlays that have the name, if it is not a part of their paths.
    files: BTreeSet<String>,
}

impl<'t> EnvironmentFilter<'t> {
    /// Creates the filter for the objects of a run.
    pub(super) fn new<'a>(
        names: &[String],
        environments: &Environments,
        deployments: &[Deployment<'t>],
        objects: impl Iterator<Item = &'a Object<'t>>,
    ) -> Self
    where
        't: 'a,
    {
        let mut filter = Self::default();
        if names.is_empty() {
            return filter;
        }
        filter.environments = environments.clone();
        let mut index = OverlayIndex::new(deployments);
        let mut paths: BTreeSet<Arc<str>> = BTreeSet::new();
        for object in objects {
            let place = place_of(object);
            let key = (&**object.path(), object.document.index);
            let known = filter.places.entry(key).or_default();
            if known.last() == Some(&place) {
                continue;
            }
            let file = object.location_file;
            if let Some(overlay) = &place.overlay {
                index.add(overlay, object);
                paths.extend([Arc::clone(overlay), Arc::clone(file)]);
            } else if filter.environments.contains(file) {
                paths.insert(Arc::clone(file));
            }
            known.push(place);
        }
        let files = index.overlays.keys().map(|id| environment_file(id));
        let files: BTreeSet<&str> = files.collect();
        let mut folders = HashSet::new();
        for folder in files.into_iter().map(folder) {
            if !folders.insert(folder) {
                filter.shared_folders.insert(folder.to_owned());
            }
        }
        for name in names {
            filter.add_name(given_name(name), &paths, &index);
        }
        filter
    }

    /// Adds a name and the overlays that have it: those with the name in a path or in the path of what they deploy, or
    /// else those that an object with the name deploys.
    fn add_name(&mut self, given: &str, paths: &BTreeSet<Arc<str>>, index: &OverlayIndex<'_, 't>) {
        let is_path = paths.iter().any(|path| self.is_named(path, given));
        let has_path = |parts: &OverlayParts<'_>| {
            let mut files = parts.files.iter();
            files.any(|file| self.is_named(file, given)) || parts.deploys(given)
        };
        let overlays = || index.overlays.iter();
        let mut found: Vec<_> = overlays().filter(|(_, parts)| has_path(parts)).collect();
        if found.is_empty() && !is_path {
            found.extend(overlays().filter(|(_, parts)| parts.is_deployed_by(given)));
        }
        let files = found.iter().flat_map(|(overlay, parts)| {
            let files = parts.files.iter().copied();
            files.chain([environment_file(overlay)])
        });
        let files = files.filter(|_| !is_path).map(str::to_owned);
        let name = EnvironmentName {
            given: given.to_owned(),
            is_known: is_path || !found.is_empty(),
            files: files.collect(),
        };
        self.overlays
            .extend(found.into_iter().map(|(overlay, _)| Arc::clone(overlay)));
        self.names.push(name);
    }

    /// Returns the names, and the files of the environments that have one of them in another way.
    pub(super) fn names_and_files(&self) -> Vec<&str> {
        let names = self.names.iter();
        names
            .flat_map(|name| [&name.given].into_iter().chain(&name.files))
            .map(String::as_str)
            .collect()
    }

    /// Returns the names that no environment has.
    pub(super) fn unknown(&self) -> impl Iterator<Item = &str> {
        let unknown = self.names.iter().filter(|name| !name.is_known);
        unknown.map(|name| &*name.given)
    }

    /// Returns whether an object belongs to the environments.
    pub(super) fn object(&self, object: &Object<'_>) -> bool {
        self.place(&place_of(object))
    }

    /// Returns whether a finding belongs to the environments.
    pub(super) fn finding(&self, finding: &Finding) -> bool {
        if self.names.is_empty() {
            return true;
        }
        if !finding.overlays.is_empty() {
            let mut overlays = finding.overlays.iter();
            return overlays.any(|overlay| self.overlay(overlay));
        }
        let path = &*finding.primary.path;
        match self.places.get(&(path, finding.document)) {
            Some(places) => places.iter().any(|place| self.place(place)),
            None => self.file(path),
        }
    }

    /// Returns whether the file of an overlay or cluster belongs to the environments.
    pub(super) fn overlay(&self, path: &str) -> bool {
        self.names.is_empty() || self.overlays.contains(path) || self.is_wanted(path)
    }

    fn place(&self, place: &Place<'_>) -> bool {
        match &place.overlay {
            Some(overlay) => self.overlay(overlay),
            None => self.file(place.file),
        }
    }

    fn file(&self, path: &str) -> bool {
        self.names.is_empty() || !self.environments.contains(path) || self.is_wanted(path)
    }

    fn is_wanted(&self, path: &str) -> bool {
        let mut names = self.names.iter();
        names.any(|name| self.is_named(path, &name.given))
    }

    /// Returns whether a name is the path of a file, or a part of it that consists of whole folders. A name with a folder
    /// may end in the name of the file, without its extension, or in the name of the object that deploys the environment; if
    /// several overlays share the folder of the file, it may also be the name of the file alone.
    fn is_named(&self, id: &str, name: &str) -> bool {
        let path = environment_file(id);
        let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
        let folder = folder(path);
        let of_object = || environment_object(id).map(|object| format!("{folder}{object}"));
        let has_folder = name.contains('/');
        [id, path].contains(&name)
            || is_part_of(name, folder)
            || (has_folder || self.shared_folders.contains(folder)) && is_part_of(name, stem)
            || has_folder && of_object().is_some_and(|object| is_part_of(name, &object))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_parts_of_paths() {
        let mut filter = EnvironmentFilter::default();
        let path = "clusters/prod/eu/apps.yaml";
        for name in ["eu", "prod/eu", "clusters/prod", "eu/apps", path] {
            assert!(filter.is_named(path, name), "{name}");
        }
        for name in ["", "e", "prod/e", "clusters/eu", "yaml", "apps"] {
            assert!(!filter.is_named(path, name), "{name}");
        }
        filter.shared_folders.insert("clusters/prod/eu/".to_owned());
        for name in ["apps", "eu/apps"] {
            assert!(filter.is_named(path, name), "{name}");
        }
    }
}
