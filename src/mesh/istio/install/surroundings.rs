//! What a carrier may refer to: other objects and plain files of the tree.

use std::sync::Arc;

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
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings<'a, 't> {
    /// ConfigMaps, and the sources that Flux takes charts from.
    pub objects: &'a [Object<'t>],
    /// Values files and `Chart.yaml` files.
    pub files: &'a [PlainFile<'t>],
}

impl<'a, 't> Surroundings<'a, 't> {
    /// Returns the object of that kind and name which is nearest to `near`; a namespace counts
    /// where both sides write one.
    pub(super) fn object(
        &self,
        kind: &str,
        name: &str,
        namespace: Option<&str>,
        near: &str,
    ) -> Option<&'a Object<'t>> {
        let same = |object: &&Object<'t>| {
            let other = object.namespace();
            let elsewhere = other.is_some() && namespace.is_some() && other != namespace;
            object.kind == kind && object.name() == name && !elsewhere
        };
        let named = self.objects.iter().filter(same);
        named.max_by_key(|object| nearness(object.path(), near))
    }

    /// Returns the file at `path`, which counts from the root of a repository that need not be
    /// the folder of the run: the end of the path decides, then nearness.
    pub(super) fn file(&self, path: &str, near: &str) -> Option<PlainFile<'t>> {
        let wanted = normal(path);
        if wanted.is_empty() {
            return None;
        }
        let matching = self
            .files
            .iter()
            .filter(|file| ends_with(file.place.unwrap_or(file.path), &wanted));
        matching
            .copied()
            .max_by_key(|file| nearness(file.path, near))
    }

    /// Returns the `Chart.yaml` of the chart in the folder `path`.
    pub(super) fn chart(&self, path: &str, near: &str) -> Option<PlainFile<'t>> {
        self.file(&format!("{path}/Chart.yaml"), near)
    }
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
