//! Limits a run to some environments: overlays, clusters, and folders that contain the same objects.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::{HashMap, HashSet};

use crate::context::environment_name::{given_name, is_part_of};
use crate::context::environments::Environments;
use crate::finding::Finding;
use crate::kube::Object;
use crate::source::paths::folder;

/// The environments that a run is limited to. Without names, it includes everything. What belongs to no environment is
/// part of all of them.
#[derive(Debug, Default)]
pub(super) struct EnvironmentFilter<'t> {
    names: Vec<EnvironmentName>,
    environments: Environments,
    /// Where the objects of a document are deployed; only if there are names.
    places: HashMap<(&'t str, usize), Vec<Place<'t>>>,
    /// The overlays that belong to the environments, because the file that deploys them does.
    overlays: HashSet<&'t str>,
    /// The folders with the files of several overlays, which are therefore named after their files.
    shared_folders: HashSet<&'t str>,
}

/// Where an object is deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place<'t> {
    overlay: Option<&'t str>,
    /// The file of the object, or the file that deploys it.
    file: &'t str,
}

fn place_of<'t>(object: &Object<'t>) -> Place<'t> {
    Place {
        overlay: object.overlay.map(|overlay| &**overlay),
        file: object.location_file,
    }
}

/// A name that the user gives, and whether an environment has it.
#[derive(Debug)]
struct EnvironmentName {
    given: String,
    is_known: bool,
}

impl<'t> EnvironmentFilter<'t> {
    /// Creates the filter for the objects of a run.
    pub(super) fn new<'a>(
        names: &[String],
        environments: &Environments,
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
        let mut overlays: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut paths = BTreeSet::new();
        for object in objects {
            let place = place_of(object);
            let key = (&**object.path(), object.document.index);
            let known = filter.places.entry(key).or_default();
            if known.last() == Some(&place) {
                continue;
            }
            known.push(place);
            if let Some(overlay) = place.overlay {
                overlays.entry(overlay).or_default().insert(place.file);
                paths.extend([overlay, place.file]);
            } else if filter.is_environment(place.file) {
                paths.insert(place.file);
            }
        }
        let mut folders = HashSet::new();
        for folder in overlays.keys().copied().map(folder) {
            if !folders.insert(folder) {
                filter.shared_folders.insert(folder);
            }
        }
        let is_known = |given: &str| paths.iter().any(|path| filter.is_named(path, given));
        filter.names = names
            .iter()
            .map(|name| given_name(name))
            .map(|given| EnvironmentName {
                given: given.to_owned(),
                is_known: is_known(given),
            })
            .collect();
        filter.overlays = overlays
            .into_iter()
            .filter(|(_, files)| files.iter().any(|file| filter.is_wanted(file)))
            .map(|(overlay, _)| overlay)
            .collect();
        filter
    }

    /// Returns the names that no environment has.
    pub(super) fn unknown(&self) -> impl Iterator<Item = &str> {
        let unknown = self.names.iter().filter(|name| !name.is_known);
        unknown.map(|name| &*name.given)
    }

    /// Returns whether an object belongs to the environments.
    pub(super) fn object(&self, object: &Object<'_>) -> bool {
        self.place(place_of(object))
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
            Some(places) => places.iter().any(|place| self.place(*place)),
            None => self.file(path),
        }
    }

    /// Returns whether the file of an overlay or cluster belongs to the environments.
    pub(super) fn overlay(&self, path: &str) -> bool {
        self.names.is_empty() || self.overlays.contains(path) || self.is_wanted(path)
    }

    fn place(&self, place: Place<'_>) -> bool {
        match place.overlay {
            Some(overlay) => self.overlay(overlay),
            None => self.file(place.file),
        }
    }

    fn file(&self, path: &str) -> bool {
        self.names.is_empty() || !self.is_environment(path) || self.is_wanted(path)
    }

    fn is_environment(&self, path: &str) -> bool {
        !self.environments.environment(path).is_empty()
    }

    fn is_wanted(&self, path: &str) -> bool {
        let mut names = self.names.iter();
        names.any(|name| self.is_named(path, &name.given))
    }

    /// Returns whether a name is the path of a file, or a part of it that consists of whole folders. If several overlays
    /// share the folder of the file, a name may end in the name of the file, without its extension.
    fn is_named(&self, path: &str, name: &str) -> bool {
        let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
        let folder = folder(path);
        path == name
            || is_part_of(name, folder)
            || self.shared_folders.contains(folder) && is_part_of(name, stem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_parts_of_paths() {
        let mut filter = EnvironmentFilter::default();
        let path = "clusters/prod/eu/apps.yaml";
        for name in ["eu", "prod/eu", "clusters/prod", path] {
            assert!(filter.is_named(path, name), "{name}");
        }
        for name in ["", "e", "prod/e", "clusters/eu", "yaml", "apps"] {
            assert!(!filter.is_named(path, name), "{name}");
        }
        filter.shared_folders.insert("clusters/prod/eu/");
        for name in ["apps", "eu/apps"] {
            assert!(filter.is_named(path, name), "{name}");
        }
    }
}
