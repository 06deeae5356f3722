//! What a carrier may refer to: other objects and plain files of the tree.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::kube::{Object, nearness};
use crate::yaml::NodeRef;

/// A YAML document that is no Kubernetes object: a values file, a `Chart.yaml`.
#[derive(Clone, Copy, Debug)]
pub struct PlainFile<'t> {
    /// The file as shown to the user, with `/`.
    pub path: &'t Arc<str>,
    /// Where it lies, from the root of the disk.
    pub place: Option<&'t str>,
    /// The root of its first document.
    pub root: NodeRef<'t>,
}

impl PlainFile<'_> {
    /// Returns the folder, without a slash at its end.
    #[must_use]
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Tells whether this describes a chart.
    #[must_use]
    pub fn is_chart(&self) -> bool {
        matches!(
            self.path.rsplit('/').next(),
            Some("Chart.yaml" | "Chart.yml")
        )
    }
}

/// The tree around a carrier, as far as carriers refer to it.
#[derive(Clone, Debug, Default)]
pub struct Surroundings<'a, 't> {
    /// ConfigMaps, and the sources that Flux takes charts from, by kind and name.
    objects: HashMap<(&'t str, &'t str), Vec<&'a Object<'t>>>,
    /// Values files and `Chart.yaml` files by the names that they have, in their order.
    files: HashMap<&'a str, Vec<&'a PlainFile<'t>>>,
}

impl<'a, 't> Surroundings<'a, 't> {
    /// Sorts what carriers may refer to.
    #[must_use]
    pub fn new(objects: &'a [Object<'t>], files: &'a [PlainFile<'t>]) -> Self {
        let mut around = Self::default();
        for object in objects {
            let named = around.objects.entry((object.kind, object.name()));
            named.or_default().push(object);
        }
        for file in files {
            // Standard input is shown by another name than it has.
            let names: BTreeSet<&str> = [Some(&**file.path), file.place]
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

    /// Returns the object of that kind and name which is nearest to `near`; a namespace counts
    /// where both sides write one.
    pub(super) fn object(
        &self,
        kind: &str,
        name: &str,
        namespace: Option<&str>,
        near: &str,
    ) -> Option<&'a Object<'t>> {
        let here = |object: &&&Object<'t>| {
            let other = object.namespace();
            other.is_none() || namespace.is_none() || other == namespace
        };
        let named = self.objects.get(&(kind, name)).into_iter().flatten();
        named
            .filter(here)
            .max_by_key(|object| nearness(object.path(), near))
            .copied()
    }

    /// Returns the file at `path`, which counts from the root of a repository that need not be
    /// the folder of the run: the end of the path decides, then nearness.
    pub(super) fn file(&self, path: &str, near: &str) -> Option<PlainFile<'t>> {
        let wanted = normal(path);
        let matching = self
            .files_named(last(&wanted))
            .filter(|file| ends_with(file.place.unwrap_or(file.path), &wanted));
        matching
            .copied()
            .max_by_key(|file| nearness(file.path, near))
    }

    /// Iterates over the files of one name, wherever they lie.
    pub(super) fn files_named(&self, name: &str) -> impl Iterator<Item = &'a PlainFile<'t>> {
        self.files.get(name).into_iter().flatten().copied()
    }

    /// Returns the `Chart.yaml` of the chart in the folder `path`.
    pub(super) fn chart(&self, path: &str, near: &str) -> Option<PlainFile<'t>> {
        self.file(&format!("{path}/Chart.yaml"), near)
    }
}

/// Returns the name of a file without its folders.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Takes `.` and `..` out of a path.
pub(super) fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

fn ends_with(path: &str, wanted: &str) -> bool {
    let path = path.trim_start_matches("./");
    match path.strip_suffix(wanted) {
        Some(before) => before.is_empty() || before.ends_with('/'),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_match_by_their_end() {
        assert_eq!(normal("./charts/../values/./a.yaml"), "values/a.yaml");
        assert!(ends_with("repo/istio/values.yaml", "istio/values.yaml"));
        assert!(ends_with("./istio/values.yaml", "istio/values.yaml"));
        assert!(!ends_with("my-istio/values.yaml", "istio/values.yaml"));
    }
}
