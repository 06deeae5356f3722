//! The parts of the tree that a carrier may refer to: other objects and plain files.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_tree::source::paths::{ends_with, folder, is_within, normal};
use meshprobe_yaml::NodeRef;

use super::source_place::{ConfigValue, SourcePlace, SourcePlaces};
use crate::kube::{Object, nearness};

/// A YAML document that is not a Kubernetes object: a values file, a `Chart.yaml`.
#[derive(Clone, Copy, Debug)]
pub struct PlainFile<'t> {
    /// The file as shown to the user, with `/`.
    pub path: &'t Arc<str>,
    /// The absolute path of the file.
    pub real_path: Option<&'t str>,
    /// The root of its first document.
    pub root: NodeRef<'t>,
}

impl PlainFile<'_> {
    /// Returns the folder, without a slash at its end.
    #[must_use]
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Returns whether this describes a chart.
    #[must_use]
    pub fn is_chart(&self) -> bool {
        matches!(
            self.path.rsplit('/').next(),
            Some("Chart.yaml" | "Chart.yml")
        )
    }
}

/// The objects and files of the tree that carriers may refer to.
#[derive(Clone, Debug, Default)]
pub struct CarrierContext<'a, 't> {
    /// ConfigMaps, and the sources of charts for Flux, by kind and name.
    objects: HashMap<(&'t str, &'t str), Vec<&'a Object<'t>>>,
    /// Values files and `Chart.yaml` files by name, in order.
    files: HashMap<&'a str, Vec<&'a PlainFile<'t>>>,
    /// Where the sources of carriers are; without it, in the repository of the carrier.
    places: Option<&'a dyn SourcePlaces>,
}

impl<'a, 't> CarrierContext<'a, 't> {
    /// Indexes the objects and files that carriers may refer to.
    #[must_use]
    pub fn new(objects: &'a [Object<'t>], files: &'a [PlainFile<'t>]) -> Self {
        let mut around = Self::default();
        for object in objects {
            let named = around.objects.entry((object.kind, object.name()));
            named.or_default().push(object);
        }
        for file in files {
            // Standard input is displayed with another name than its own.
            let names: BTreeSet<&str> = [Some(&**file.path), file.real_path]
                .into_iter()
                .flatten()
                .map(last)
                .collect();
            for name in names {
                around.files.entry(name).or_default().push(file);
            }
        }
        around
    }

    /// Sets where the sources of carriers are.
    #[must_use]
    pub fn with_places(self, places: &'a dyn SourcePlaces) -> Self {
        Self {
            places: Some(places),
            ..self
        }
    }

    /// Returns the object of that kind and name that is nearest to `near`; namespaces are compared
    /// if both sides have one.
    pub(super) fn object(
        &self,
        kind: &str,
        name: &str,
        namespace: Option<&str>,
        near: &str,
    ) -> Option<&'a Object<'t>> {
        let matches_namespace = |object: &&&Object<'t>| {
            let other = object.namespace();
            other.is_none() || namespace.is_none() || other == namespace
        };
        self.objects
            .get(&(kind, name))
            .into_iter()
            .flatten()
            .filter(matches_namespace)
            .max_by_key(|object| nearness(object.path(), near))
            .copied()
    }

    /// Returns the file at `path`, which is relative to the root of a repository. That root may differ from
    /// the folder of the run, so the end of the path decides, then nearness.
    fn file_in(&self, path: &str, near: &str, root: Option<&str>) -> Option<PlainFile<'t>> {
        let wanted = normal(path);
        self.files_named(last(&wanted))
            .filter(|file| root.is_none_or(|root| is_within(folder(file.path), root)))
            .filter(|file| ends_with(file.real_path.unwrap_or(file.path), &wanted))
            .copied()
            .max_by_key(|file| nearness(file.path, near))
    }

    /// Iterates over the files with a name, in all folders.
    pub(super) fn files_named(&self, name: &str) -> impl Iterator<Item = &'a PlainFile<'t>> {
        self.files.get(name).into_iter().flatten().copied()
    }

    /// Returns the file at `entry`, which is relative to a folder of the tree.
    pub(super) fn file_at(&self, folder: &str, entry: &str) -> Option<PlainFile<'t>> {
        let path = self.places?.joined(folder, entry);
        let mut files = self.files_named(last(&path));
        files.find(|file| **file.path == *path).copied()
    }

    /// Returns the value of `key` in the ConfigMap or Secret that `object` refers to.
    pub(super) fn config_value(
        &self,
        object: &Object<'_>,
        reference: (&str, &str),
        key: &str,
    ) -> Result<Option<ConfigValue>, String> {
        let places = self.places;
        places.map_or(Ok(None), |places| {
            places.config_value(object, reference, key)
        })
    }

    /// Returns the file at `path` in the repository of the file `near`.
    pub(super) fn file(&self, path: &str, near: &str) -> Option<PlainFile<'t>> {
        self.file_in(path, near, None)
    }

    /// Returns the file at `path` in a source that `object` names.
    pub(super) fn file_of(
        &self,
        object: &Object<'_>,
        source: NodeRef<'_>,
        path: &str,
    ) -> Option<PlainFile<'t>> {
        let place = self.places.map(|places| places.place(object, source));
        match place.unwrap_or(SourcePlace::Here) {
            SourcePlace::Here => self.file_in(path, object.path(), None),
            SourcePlace::Below(root) => self.file_in(path, object.path(), Some(&root)),
            SourcePlace::Elsewhere => None,
        }
    }

    /// Returns the `Chart.yaml` of the chart in the folder `path` of a source that `object` names.
    pub(super) fn chart(
        &self,
        object: &Object<'_>,
        source: NodeRef<'_>,
        path: &str,
    ) -> Option<PlainFile<'t>> {
        self.file_of(object, source, &format!("{path}/Chart.yaml"))
    }
}

/// Returns the name of a file without its folders.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use meshprobe_tree::source::paths::{ends_with, normal};

    #[test]
    fn paths_are_matched_by_their_end() {
        assert_eq!(normal("./charts/../values/./a.yaml"), "values/a.yaml");
        assert!(ends_with("repo/istio/values.yaml", "istio/values.yaml"));
        assert!(ends_with("./istio/values.yaml", "istio/values.yaml"));
        assert!(!ends_with("my-istio/values.yaml", "istio/values.yaml"));
    }
}
